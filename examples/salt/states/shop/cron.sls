{%- from "shop/map.jinja" import shop with context %}

include:
  - shop.release

{%- for name, job in shop.cron|dictsort %}
shop_cron_{{ name }}:
  cron.present:
    - name: {{ shop.current }}/{{ job.command }}
    - identifier: shop-{{ name }}
    - user: {{ shop.user }}
  {%- for key in ('minute', 'hour', 'daymonth', 'month', 'dayweek', 'special') if job[key] is defined %}
    - {{ key }}: '{{ job[key] }}'
  {%- endfor %}
    - require:
      - user: shop_account
      - file: shop_current
{%- endfor %}
