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
    # Where there is no compiler, there is no archiver either, which meson asks for.
    for tool in cc ar; do
        printf '#!/bin/sh\nexec "%s/python" -m ziglang %s "$@"\n' "$bin" "$tool" \
            >"$bin/zig-$tool"
        chmod +x "$bin/zig-$tool"
    done
    CC="$bin/zig-cc"
    AR="$bin/zig-ar"
    export CC AR
fi
exec "$bin/python" -m pip install -q --no-build-isolation \
    -Cbuild-dir="build/$1" -e "$2" --group "$3"
