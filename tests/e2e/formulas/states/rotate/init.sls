{% from "rotate/map.jinja" import rotate with context %}
{% from "rotate/macros.jinja" import each %}
{% from "rotate/macros.jinja" import job_lines with context %}

include:
  - rotate.jobs

rotate:
  pkg.installed:
    - name: {{ rotate.pkg }}
    - refresh: false
  file.managed:
    - name: {{ rotate.conf_file }}
    - source: salt://rotate/files/rotate.conf
    - template: jinja
    - user: {{ rotate['user'] }}
    - group: {{ rotate['group'] }}
    - mode: 0644
    - context:
        defaults: {{ rotate.default_config | yaml }}
        include_dir: {{ rotate.include_dir }}
    - require:
      - pkg: rotate

rotate_directory:
  file.recurse:
    - name: {{ rotate.include_dir }}
    - source: salt://{{ slspath }}/files/conf.d
    - file_mode: keep
    - dir_mode: '0755'
    - exclude_pat: E@(README|~$)
    - include_empty: true
    - template: jinja
    - require_in:
      - sls: rotate.jobs

{% call(item, index) each(rotate.get('extra', ['one', 'two'])) %}
rotate_extra_{{ item }}:
  file.append:
    - name: {{ rotate.include_dir }}/extra
    - text: "# {{ index }}: {{ item }}"
    - require:
      - file: rotate_directory
{% endcall %}
