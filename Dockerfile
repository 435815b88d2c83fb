# Not built where it was written, for want of Docker.
# docker build -t fatt . && docker run --rm --user "$(id -u)" \
#   -v "$PWD:/audit" -w /audit fatt audit --demo --html audit.html
FROM python:3.11-slim AS build
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev
COPY . /source
RUN pip wheel --wheel-dir /wheels "/source[onnx,skops,tables]"

FROM python:3.11-slim
COPY --from=build /wheels /wheels
RUN pip install --no-index --find-links /wheels "fatt[onnx,skops,tables]" \
    && rm -r /wheels && useradd auditor
USER auditor
ENTRYPOINT ["fatt"]
