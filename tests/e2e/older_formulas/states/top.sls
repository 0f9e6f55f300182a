base:
  '*': [users, openssh, nginx, sudoers]
