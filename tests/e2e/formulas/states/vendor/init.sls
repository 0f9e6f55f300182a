{%- from "vendor/map.jinja" import vendor with context %}
include:
  - .install
  {{ '- .wrappers' if vendor.wrappers else '' }}
