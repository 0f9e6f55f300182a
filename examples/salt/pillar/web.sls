roles:
  - web
  - shop

nginx:
  config:
    worker_processes: 2
    http:
      keepalive_timeout: 30
  snippets:
    headers:
      - add_header X-Frame-Options: DENY
      - add_header X-Served-By: {{ grains['id'] }}
  vhosts:
    default:
      enabled: false
    static:
      listen: 8080
      server_name: [static.example.org]
      root: /srv/www/static
      index: '<h1>static</h1>'
    shop:
      listen: 8080
      server_name:
        - shop.example.org
        - www.shop.example.org
      root: /opt/shop/current/public
      snippets: [headers]
      locations:
        /static:
          alias: /srv/www/shop-static
        /admin:
          deny: all
