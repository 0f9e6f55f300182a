{%- set domain = 'example.org' %}
common:
  timezone: Europe/Berlin
  locale: de_DE.UTF-8
  motd: Managed by states. What is changed by hand is changed back.
  hosts:
    db.{{ domain }}:
      ip: 192.0.2.10
      aliases: [db, database]
    cache.{{ domain }}:
      ip:
        - 192.0.2.11
        - 2001:db8::11
  sysctl:
    net.ipv4.ip_forward: 1
    net.core.somaxconn: 1024
  limits:
    - domain: www-data
      type: soft
      item: nofile
      value: 8192
    - domain: www-data
      type: hard
      item: nofile
      value: 16384
