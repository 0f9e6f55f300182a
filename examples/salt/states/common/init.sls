include:
  - .packages
  - .system
  - .hosts
