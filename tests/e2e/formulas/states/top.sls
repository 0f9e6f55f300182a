base:
  '*':
    - accounts
    - keeper
  'G@os_family:Debian and web*':
    - match: compound
    - webd
    - webd._mapdata
    - clock
    - rotate
    - sshd
    - database
    - platform
    - vendor
