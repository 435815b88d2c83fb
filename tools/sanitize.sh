#!/bin/sh
# Build the kernels with the compiler's checks into a folder of their own, and run with
# them what judges the search: sanitize.sh PYTHON [TESTS...]
set -eu
python=$(command -v "$1")
shift
bin=$(cd "$(dirname "$python")" && pwd)
PATH="$bin:$PATH"
here=$PWD/build/sanitize
test -f "$here/build.ninja" || meson setup "$here" \
    -Dbuildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false \
    -Dc_args='-fno-sanitize-recover=undefined'
ninja -C "$here"
# A copy of the package with these kernels beside their sources.
rm -rf "$here/tree"
mkdir -p "$here/tree"
cp -r fatt tests pyproject.toml "$here/tree"
test ! -d benchmarks || cp -r benchmarks "$here/tree"
find "$here/tree" -name '*.so' -delete
(cd "$here" && find fatt -name '*.so') | while read -r so; do
    cp "$here/$so" "$here/tree/$so"
done
cd "$here/tree"
[ $# -gt 0 ] || set -- tests/verifier tests/laws/test_soundness.py \
    tests/laws/test_completeness.py tests/repairs/test_descent.py
# Python itself never frees some memory, which is none of ours.
export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
export MESONPY_EDITABLE_SKIP="$OLDPWD/build/.venv" PYTHONPATH="$PWD"
LD_PRELOAD="$(cc -print-file-name=libasan.so) $(cc -print-file-name=libstdc++.so)" \
    exec "$bin/python" -m pytest -n 0 -p no:cacheprovider "$@"
