"""Reports: what was found out about many people, for people and for programs."""

from fatt.report.groups import Group, Groups
from fatt.report.harm import Harm, HarmByGroup, Harmed, Side
from fatt.report.report import Asked, Report

__all__ = [
    "Asked",
    "Group",
    "Groups",
    "Harm",
    "HarmByGroup",
    "Harmed",
    "Report",
    "Side",
]
