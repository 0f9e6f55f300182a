{% from "accounts/map.jinja" import accounts with context %}
# Which needs the accounts as these need it.
include:
  - accounts

sudoers-dir:
  file.directory:
    - name: {{ accounts.sudoers_dir }}
    - mode: 755
