include:
  - nginx.vhosts
  - .release
  - .config
  - .service
  - .cron

# the web server waits for the release that its vhost shows
extend:
  nginx_service:
    service:
      - require:
        - file: shop_current
  nginx_vhost_shop:
    file.managed:
      - mode: '0640'
