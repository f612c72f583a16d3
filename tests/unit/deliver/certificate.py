"""A certificate of its own for a test, made by openssl."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path


def made(folder: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """How a server of a name speaks TLS, and how one that trusts it does."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    wanted = [
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        f"/CN={name}",
    ]
    files = ["-addext", f"subjectAltName=DNS:{name}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", "-x509", *wanted, *files], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    return server, ssl.create_default_context(cafile=str(certificate))
