include:
  - .service.clean
  - .config.clean
