"""Decides which addresses a webhook may be sent to.

The author of a rule names a URL, and the machine that runs Tidings may reach more than the author may: services of the
same host, of the local network, of the cloud's own link-local address.  So a name is resolved first, each address is
checked, and the connection is made to an address that was checked.  Resolving the name a second time would let a name
server give another answer.

What counts is the address a packet would go to: an IPv4 address inside an IPv6 address is taken out and checked.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

IPNetwork = IPv4Network | IPv6Network

_PUBLIC_V6 = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
_TUNNELS = (IPv6Network("2002::/16"), IPv6Network("2001::/32"))
"""6to4 and Teredo: addresses that lead to others, and that no server uses any more."""


def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, in the order the system prefers."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in infos))


def is_allowed(address: str, allow: Sequence[IPNetwork] = ()) -> bool:
    """Whether an address is public, or in one of the networks that are allowed.

    >>> [is_allowed(a) for a in ("93.184.216.34", "127.0.0.1", "169.254.169.254", "::ffff:10.0.0.1")]
    [True, False, False, False]
    """
    inner = _inner(ip_address(address))
    return any(inner in network for network in allow) or _is_public(inner)


def _inner(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address inside an IPv6 address, if there is one."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return address.ipv4_mapped
        if address in _NAT64:
            return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _is_public(address: IPv4Address | IPv6Address) -> bool:
    if isinstance(address, IPv6Address) and (address not in _PUBLIC_V6 or any(address in t for t in _TUNNELS)):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved
