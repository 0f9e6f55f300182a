"""Swap two names with each other, for ever: what whoever owns a folder does while root works in it."""
import ctypes
import os
import sys

AT_FDCWD = -100
RENAME_EXCHANGE = 2


def main():
    first, second = (os.fsencode(word) for word in sys.argv[1:])
    exchange = ctypes.CDLL(None, use_errno=True).renameat2
    print("ready", flush=True)
    while True:  # names may be gone for a while: whoever made this says when it ends
        exchange(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE)


main()
