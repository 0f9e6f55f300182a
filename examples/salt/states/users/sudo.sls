{%- from "users/map.jinja" import users_settings with context %}

users_sudoers_dir:
  file.directory:
    - name: {{ users_settings.sudoers_dir }}
    - mode: 750
    - makedirs: True
