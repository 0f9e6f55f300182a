# -*- coding: utf-8 -*-
{%- set port = 8080 if grains['os_family'] == 'Debian' else 80 %}
webd:
  lookup:
    winner: lookup
    rootgroup: adm
  tofs:
    source_files:
      webd-site-managed: [missing.jinja, site.conf.jinja]
  sites:
    static:
      title: 'Static: "pages"'
      port: {{ port }}
      root: /srv/www/static
      aliases: [static.example.org]
    shop.example.org:
      port: {{ port }}
      root: /srv/www/shop
    off.example.org:
      enabled: no
      root: /srv/www/off
