{%- from "rotate/map.jinja" import rotate with context %}
{%- from "rotate/macros.jinja" import job_lines with context %}
{%- for key, value in rotate.jobs.items() | sort %}
  {%- set contents = salt['pillar.get']('rotate:jobs:' ~ key ~ ':contents', false) %}
rotate-{{ key }}:
  file.managed:
    - name: {{ rotate.include_dir }}/{{ key.split('/')[-1] }}
    {%- if contents %}
    - contents_pillar: rotate:jobs:{{ key }}:contents
    {%- else %}
    - contents: |
        {{ ((value.path if value.path is string else value.path | join(' ')) if value.path is defined else key) }} {
        {{ job_lines(value) | indent(8) | trim }}
        }
    {%- endif %}
    - unless:
      - test -e /etc/rotate.off
      - test -e /etc/rotate.never
  {%- if 'cron' in value %}
  cron.present:
    - name: /usr/bin/handy rotate {{ key }}
    - identifier: rotate-{{ key | replace('/', '_') }}
    {%- for field, at in value.cron | dictsort %}
    - {{ field }}: {{ at | yaml_encode }}
    {%- endfor %}
    - require:
      - file: rotate-{{ key }}
  {%- endif %}
{%- endfor %}
