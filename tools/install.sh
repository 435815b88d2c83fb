#!/bin/sh
# Install fatt for development: install.sh ENVIRONMENT WHAT GROUP
#
# The kernels are built into build/ENVIRONMENT, and again when they change. Where no C
# compiler is found, one is taken from the package index into the environment.
set -eu
bin="$PWD/$1/bin"
"$bin/python" -m pip install -q --group build
PATH="$bin:$PATH"
CYTHON="$bin/cython"
NINJA="$bin/ninja"
export PATH CYTHON NINJA
if [ -z "${CC:-}" ] && ! command -v cc >/dev/null && ! command -v gcc >/dev/null \
    && ! command -v clang >/dev/null; then
    "$bin/python" -m pip install -q ziglang
    printf '#!/bin/sh\nexec "%s/python" -m ziglang cc "$@"\n' "$bin" >"$bin/zig-cc"
    chmod +x "$bin/zig-cc"
    CC="$bin/zig-cc"
    export CC
fi
exec "$bin/python" -m pip install -q --no-build-isolation \
    -Cbuild-dir="build/$1" -e "$2" --group "$3"
