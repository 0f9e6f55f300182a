{%- from "clock/map.jinja" import clock with context %}
clock-service-reload:
  cmd.wait:
    - name: echo reloaded >> /run/clock.reloads
{%- if clock.allow | length > 1 %}
clock-service-warning:
  test.show_notification:
    - text: {{ ('allowed: ' ~ clock.allow) | yaml_dquote }}
{%- endif %}
