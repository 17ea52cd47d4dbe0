# The server as a container: docker build -t holdfast .
FROM swift:6.3-bookworm AS build
RUN apt-get update -qq \
  && apt-get install -qq -y --no-install-recommends \
    pkg-config libsqlite3-dev libgnutls28-dev libsodium-dev libssl-dev libpq-dev libcurl4-openssl-dev libzstd-dev libdeflate-dev \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /holdfast
COPY Package.swift ./
COPY Sources Sources
COPY Plugins Plugins
COPY Examples Examples
COPY Snippets Snippets
COPY Tests Tests
COPY clients clients
RUN swift build -c release --product holdfast --static-swift-stdlib \
  && install -D "$(swift build -c release --show-bin-path --static-swift-stdlib)/holdfast" /out/holdfast

FROM debian:bookworm-slim
RUN apt-get update -qq \
  && apt-get install -qq -y --no-install-recommends \
    ca-certificates curl libsqlite3-0 libgnutls30 libsodium23 libssl3 libpq5 libcurl4 libzstd1 libdeflate0 tzdata \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --system --uid 10001 --home-dir /var/lib/holdfast --shell /usr/sbin/nologin holdfast \
  && install -d -o holdfast -g holdfast -m 700 /var/lib/holdfast \
  && install -d /etc/holdfast
COPY --from=build /out/holdfast /usr/local/bin/holdfast
USER 10001:10001
# Nothing is written but here, and here only with --data: the root may be read-only.
VOLUME /var/lib/holdfast
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=3s --start-period=10s --retries=3 \
  CMD ["curl", "--fail", "--silent", "--output", "/dev/null", "http://127.0.0.1:8080/healthz"]
ENTRYPOINT ["holdfast"]
CMD ["serve", "--schema", "/etc/holdfast/holdfast.json", "--data", "/var/lib/holdfast", "--listen", "0.0.0.0:8080"]
