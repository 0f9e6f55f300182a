base:
  '*':
    - common
    - users
    - site
  'G@os:Debian and web*':
    - match: compound
    - web
    - shop
