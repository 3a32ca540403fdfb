# Redis and an S3 store under the names that the manifests give them, where no registry can be reached: Debian's Redis, and moto.
ARG BASE=debian:12.14-slim
FROM $BASE AS redis
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends redis-server && rm -rf /var/lib/apt/lists/* /var/cache/apt/*

FROM $BASE AS minio
RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv
COPY versions.txt minio /src/
ENV PATH=/opt/moto/bin:$PATH
RUN python3 -m venv /opt/moto && pip install --no-cache-dir -c /src/versions.txt "moto[s3]" flask flask-cors && \
    install /src/minio /usr/local/bin/minio
