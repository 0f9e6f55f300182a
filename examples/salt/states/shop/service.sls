{%- from "shop/map.jinja" import shop with context %}

include:
  - shop.config

shop-worker:
  file.managed:
    - name: /etc/init.d/shop-worker
    - source: salt://{{ slspath }}/files/shop-worker.init.jinja
    - template: jinja
    - mode: 755
    - context: {{ {'base': shop.current, 'user': shop.user}|yaml }}
  service.running:
    - enable: True
    - watch:
      - file: shop-worker
      - file: /etc/shop/shop.yaml
      - archive: shop_release
    - require:
      - file: shop_current
      - cmd: shop_migrate
