"""Train the kept models again, each library version in an environment of its own.

Run ``python tests/data/make_models.py`` from the repository root. It takes some minutes
and overwrites ``tests/data/models``. The files are kept so that formats of old
versions stay readable; ``tests/importers/test_kept_models.py`` compares bits.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).parent

OLD = ["numpy<2", "scipy<1.14", "scikit-learn<1.5"]
OLDER = ["numpy<1.24", "scipy<1.10", "scikit-learn<1.2", "pandas<2"]
ENVIRONMENTS = {
    "make_sklearn.py": [
        ["scikit-learn==1.5.2", "skops==0.16.0"],
        ["scikit-learn==1.7.2", "skops==0.16.0"],
        ["scikit-learn==1.9.1", "skops==0.16.0"],
    ],
    "make_pickles.py": [
        # It needs Python 3.10 at most.
        ["scikit-learn==1.0.2", "numpy<1.24", "scipy<1.10"],
        ["scikit-learn==1.1.3", "numpy<2"],
        ["scikit-learn==1.2.2", "numpy<2"],
        ["scikit-learn==1.3.2", "numpy<2"],
        ["scikit-learn==1.4.2"],
        ["scikit-learn==1.6.1"],
        ["scikit-learn==1.9.1"],
    ],
    "make_xgboost.py": [
        ["xgboost==1.7.6", *OLD],
        ["xgboost==2.0.3", *OLD],
        ["xgboost-cpu==2.1.4", "numpy<2.3", "scipy", "scikit-learn<1.6"],
        ["xgboost-cpu==3.0.5", "numpy<2.3", "scipy", "scikit-learn<1.7"],
        ["xgboost-cpu==3.1.3", "numpy<2.3", "scikit-learn<1.7", "pandas<3", "pyarrow"],
        ["xgboost-cpu==3.2.0", "scikit-learn", "pandas", "pyarrow"],
        # These need Python 3.12.
        ["xgboost-cpu==3.3.0", "scikit-learn", "pandas", "pyarrow"],
        ["xgboost-cpu==3.4.1", "scikit-learn", "pandas", "pyarrow"],
    ],
    "make_xgboost_old.py": [
        ["xgboost==0.90", *OLDER],
        ["xgboost==1.0.2", *OLDER],
        ["xgboost==1.3.3", *OLDER],
        ["xgboost==1.6.2", *OLDER],
        ["xgboost-cpu==3.0.5", "numpy<2.3", "scipy", "scikit-learn<1.7"],
    ],
    "make_lightgbm.py": [
        ["lightgbm==2.0.12", *OLDER],
        ["lightgbm==2.2.3", *OLDER],
        ["lightgbm==2.3.1", *OLDER],
        ["lightgbm==3.3.5", "pandas", "scikit-learn"],
        ["lightgbm==4.0.0", "numpy<2", "pandas<3", "scikit-learn<1.6"],
        ["lightgbm==4.3.0", "pandas", "scikit-learn"],
        ["lightgbm==4.7.0", "pandas", "scikit-learn"],
    ],
    "make_catboost.py": [
        ["catboost==1.2", "numpy<2", "pandas<3"],
        ["catboost==1.2.5", "numpy<2", "pandas<3"],
        ["catboost==1.2.10"],
    ],
    "make_onnx.py": [
        [
            *["onnx==1.16.2", "onnxruntime==1.18.1", "skl2onnx==1.17.0"],
            *["onnxmltools==1.12.0", "scikit-learn==1.5.2", "xgboost==1.7.6"],
            *["lightgbm==4.3.0", "numpy<2", "protobuf<5"],
        ],
        [
            *["onnx==1.23.2", "onnxruntime==1.31.1", "skl2onnx==1.20.0"],
            *["onnxmltools==1.16.0", "scikit-learn==1.9.1", "xgboost-cpu==3.2.0"],
            "lightgbm==4.7.0",
        ],
    ],
}


def main() -> None:
    for script, environments in ENVIRONMENTS.items():
        for requirements in environments:
            with tempfile.TemporaryDirectory() as folder:
                venv.create(folder, with_pip=True)
                python = str(Path(folder, "bin", "python"))
                install = [python, "-m", "pip", "install", "-q", *requirements]
                subprocess.run(install, check=True)
                command = [python, str(HERE / script), str(HERE / "models")]
                subprocess.run(command, check=True)
                sys.stderr.write(f"{script}: {' '.join(requirements)}\n")


if __name__ == "__main__":
    main()
