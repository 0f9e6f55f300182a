{%- from "shop/map.jinja" import shop with context %}

include:
  - shop.release

/etc/shop/shop.yaml:
  file.serialize:
    - dataset:
        workers: {{ shop.workers }}
        database: {{ shop.database|json }}
    - formatter: yaml
    - user: root
    - group: {{ shop.group }}
    - mode: 640
    - makedirs: True
    - show_changes: False
    - require:
      - user: shop_account

/etc/default/shop-worker:
  file.keyvalue:
    - key_values:
        SHOP_BASE: {{ shop.current }}
        SHOP_USER: {{ shop.user }}
        SHOP_WORKERS: '{{ shop.workers }}'
    - separator: '='
    - append_if_not_found: True
    - create_if_missing: True
    - listen_in:
      - service: shop-worker
