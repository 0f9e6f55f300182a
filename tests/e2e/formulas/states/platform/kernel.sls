{% import_yaml 'platform/kernel.yaml' as defaults %}
{% set params = salt['pillar.get']('platform:sysctl', defaults.params, merge=True, merge_nested_lists=False) %}
{% for key, value in params | dictsort %}
{% if value is mapping %}
sysctl_{{ key }}:
  sysctl.present:
    - name: {{ key }}
    - value: {{ value.value }}
    - config: {{ value.config | default(defaults.config) }}
{% else %}
{{ key }}:
  sysctl.present:
    - value: {{ value }}
    - config: {{ defaults.config }}
{% endif %}
{% endfor %}
