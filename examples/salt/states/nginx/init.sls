include:
  - .package
  - .config
  - .snippets
  - .vhosts
  - .service
