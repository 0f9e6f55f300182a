{%- from "shop/map.jinja" import shop with context %}

shop_account:
  group.present:
    - name: {{ shop.group }}
    - gid: {{ shop.uid }}
    - system: True
  user.present:
    - name: {{ shop.user }}
    - uid: {{ shop.uid }}
    - gid: {{ shop.uid }}
    - system: True
    - home: {{ shop.base }}
    - createhome: False
    - shell: /usr/sbin/nologin
    - require:
      - group: shop_account

shop_dirs:
  file.directory:
    - names:
      - {{ shop.base }}
      - {{ shop.base }}/releases
      - {{ shop.base }}/shared:
        - mode: '0770'
      - /var/log/shop
    - user: {{ shop.user }}
    - group: {{ shop.group }}
    - makedirs: True
    - require:
      - user: shop_account

shop_release:
  archive.extracted:
    - name: {{ shop.release }}
    - source: {{ shop.source }}
  {%- if shop.source_hash %}
    - source_hash: {{ shop.source_hash }}
  {%- endif %}
    - user: {{ shop.user }}
    - group: {{ shop.group }}
    - options: --strip-components=1
    - enforce_toplevel: False
    - if_missing: {{ shop.release }}/bin/shop
    - require:
      - file: shop_dirs

# notified before another release replaces it
shop_drain:
  cmd.run:
    - name: echo drain {{ shop.version }} >> /var/log/shop/deploy.log
    - runas: {{ shop.user }}
    - require:
      - file: shop_dirs
    - prereq:
      - file: shop_current

shop_current:
  file.symlink:
    - name: {{ shop.current }}
    - target: {{ shop.release }}
    - force: True
    - user: {{ shop.user }}
    - require:
      - archive: shop_release

shop_migrate:
  cmd.run:
    - name: {{ shop.current }}/bin/shop migrate
    - cwd: {{ shop.base }}
    - runas: {{ shop.user }}
    - env:
      - SHOP_SCHEMA: '3'
    - onchanges:
      - file: shop_current

shop_seed:
  cmd.run:
    - name: bin/shop seed > {{ shop.base }}/shared/seeded
    - cwd: {{ shop.current }}
    - runas: {{ shop.user }}
    - unless:
      - test -s {{ shop.base }}/shared/seeded
    - require:
      - cmd: shop_migrate

shop_static:
  file.recurse:
    - name: /srv/www/shop-static
    - source: salt://shop/files/static
    - clean: True
    - include_empty: True
    - user: {{ shop.user }}
    - group: {{ shop.group }}
    - require:
      - user: shop_account
