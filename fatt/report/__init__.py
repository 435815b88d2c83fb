"""Reports: what was found out about many people, for people and for programs."""

from fatt.report.asked import Asked
from fatt.report.counterexamples import Counterexamples, Twins
from fatt.report.findings import Findings
from fatt.report.groups import Group
from fatt.report.report import Report

__all__ = ["Asked", "Counterexamples", "Findings", "Group", "Report", "Twins"]
