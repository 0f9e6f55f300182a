{#- Repositories of the vendors; packages wait for them. -#}
{%- from "common/map.jinja" import common with context %}

{%- for name, repo in salt['pillar.get']('apt:repos', {}).items() %}
apt_repo_{{ name }}:
  pkgrepo.managed:
    - humanname: {{ name|capitalize }} packages
    - name: deb {{ '[' ~ repo.options ~ '] ' if repo.options is defined }}{{ repo.url }} {{ repo.dist }} {{ repo.get('comps', [])|join(' ') }}
    - file: {{ common.sources_dir }}/{{ name }}.list
    - clean_file: True
  {%- if repo.key_url is defined %}
    - key_url: {{ repo.key_url }}
  {%- endif %}
    - require_in:
      - pkg: wanted_packages
  {%- if 'web' in salt['pillar.get']('roles', []) %}
      - pkg: nginx_package
  {%- endif %}
{%- endfor %}
