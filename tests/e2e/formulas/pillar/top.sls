base:
  '*':
    - accounts
    - keeper
  'web*':
    - webd
