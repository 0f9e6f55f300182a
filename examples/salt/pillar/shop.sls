shop:
  version: 1.4.0
  source: salt://shop/releases/shop-1.4.0.tar.gz
  source_hash: ~
  workers: {{ [grains.get('num_cpus', 1), 2]|min }}
  database:
    host: db.example.org
    name: shop
    user: shop
    password: correct-horse-battery
  cron:
    cleanup:
      minute: 15
      hour: '*/6'
      command: bin/cleanup --older-than 30d
    report:
      special: '@daily'
      command: bin/report
