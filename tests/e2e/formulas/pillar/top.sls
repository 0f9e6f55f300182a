base:
  '*':
    - accounts
    - keeper
    - site
  'web*':
    - webd
