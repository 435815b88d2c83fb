"""What `make` does where there is no C compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "install.sh"


@pytest.fixture
def installed(tmp_path: Path) -> list[str]:
    """Install with a Python that only notes how it is called; return the last call."""
    tools, bin_folder = tmp_path / "tools", tmp_path / "env" / "bin"
    tools.mkdir()
    bin_folder.mkdir(parents=True)
    for name in ("sh", "chmod"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    python = bin_folder / "python"
    python.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/called\n')
    python.chmod(0o755)
    environment = {name: os.environ[name] for name in os.environ if name != "CC"}
    environment["PATH"] = str(tools)
    subprocess.run(
        [TOOL, "env", ".[all]", "dev"], cwd=tmp_path, env=environment, check=True
    )
    return (tmp_path / "called").read_text(encoding="utf-8").splitlines()


def test_a_folder_that_is_configured_anew_finds_its_compiler(
    installed: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "env" / "bin" / "zig.ini"
    assert installed[-1] == f"-Csetup-args=--native-file={file}"
    folder = file.parent
    assert file.read_text(encoding="utf-8").splitlines() == [
        "[binaries]",
        f"c = '{folder}/zig-cc'",
        f"ar = '{folder}/zig-ar'",
    ]
    assert all(os.access(folder / name, os.X_OK) for name in ("zig-cc", "zig-ar"))
    assert installed[-5:-1] == ["-e", ".[all]", "--group", "dev"]
