/* The chapters of the manual, beyond the parameter tables. */
#include "kepler/access/right.h"
#include "kepler/config/condition.h"
#include "kepler/config/config_manual.h"
#include "kepler/config/config_read.h"

/* clang-format off */
static const char file_details[] =
    "A YAML file (1.2: only true and false are booleans) of at most 10 MiB. Unknown keys and wrong\n"
    "types are errors; all of them are reported at once, with line and column, before anything\n"
    "starts: 'kepler validate'. Service names consist of a-z, 0-9, '_' and '-'. The file and the\n"
    "environment of the user are read when the config is first started; later changes take effect\n"
    "with 'kepler run' or 'kepler recreate'.\n"
    "\n"
    "Top-level keys that begin with 'x-' are yours: put shared settings there, with an anchor (&),\n"
    "and merge them (<<: *) into services.\n"
    "\n"
    "A duration is a number with ms, s, m, h or d, as text: 500ms, 30s. A size is a number with\n"
    "B, K, M or G, in powers of 1024: 64M.\n";

static const char service_details[] =
    "A service has either 'command', which is executed directly, or 'run', a text for the shell\n"
    "($SHELL of the environment, else /bin/bash, else sh). Most values may be computed: see\n"
    "'expressions'. They are evaluated again at each start of the service.\n"
    "\n"
    "The environment of its process, later ones win: the captured variables of the config (if\n"
    "inherit_env), env_file, environment in its order, then HOME, USER, LOGNAME and SHELL of 'user',\n"
    "or of a non-root owner (if user_identity); a number without an account has the home '/'. The\n"
    "daemon's own variables are not passed on.\n"
    "\n"
    "To stop it, stop_signal is sent to its process and all descendants; those left after\n"
    "stop_grace_period are killed. A stop is complete when the whole tree is gone. 'kepler reload'\n"
    "sends reload_signal to its main process, if that handles or ignores the signal.\n";

static const char depends_details[] =
    "A list of names, a map of names with the keys below, or a list of both. Each service waits for\n"
    "its own dependencies; services without dependencies start at once. The key 'state' is for states\n"
    "of this machine, see 'state'.\n";

static const char state_details[] =
    "A service can also wait for states of zester on this machine: a name, a list of names, or a map\n"
    "of names with the keys below, under the key 'state' of 'depends_on' (unless the file has a\n"
    "service of that name). A name is\n"
    "\n"
    "  highstate                  the last run of the top file\n"
    "  file.managed:/etc/motd     a state, as reports name it\n"
    "  /etc/motd                  all states with this ID\n"
    "  web.nginx                  the last run of 'state.apply web.nginx'\n"
    "\n"
    "and is met when its last run on this machine succeeded; dry runs do not count. A later failure\n"
    "does not stop the service. With 'restart: true' the service restarts when a successful run of\n"
    "the state changed something.\n"
    "\n"
    "The daemon asks this machine's agent (zester-peel) once a second, through the socket in its data\n"
    "folder; without an agent it reads the records of the last runs there, which 'zester --local'\n"
    "writes, too. The folder is /var/lib/zester, or ~/.local/state/zester for a daemon of a non-root\n"
    "user; 'kepler.zester_data' changes it, in configs of the user who runs the daemon. 'kepler ps'\n"
    "and 'kepler why' show what a service waits for. 'kepler start' does not wait for services that\n"
    "wait for a state.\n";

static const char depends_more[] =
    "An exit after which the policy restarts the dependency does not count. A condition that can no\n"
    "longer hold skips the dependent, with a reason; so does a skipped dependency, unless\n"
    "allow_skipped is set. A service without a healthcheck never becomes healthy: a dependent that\n"
    "waits for that fails after its timeout, or is skipped when it has none.\n"
    "\n"
    "'required: false', as in Compose: the service starts without the dependency if the file does not\n"
    "define it, or if it was skipped, can no longer meet its condition, or does not meet it in time.\n"
    "Until then the service waits.\n"
    "\n"
    "With 'restart: true' the dependent is stopped when the dependency restarts, for any reason, and\n"
    "started when the condition holds again. A service that restarts by itself first waits for such\n"
    "restarts of its dependencies, so that it restarts once.\n";

static const char restart_details[] =
    "The policy alone, or a map. Policies are no, always, or any of on-failure, on-success and\n"
    "on-unhealthy, joined with '|'. Exit code 0 is success, anything else is failure. The delay\n"
    "before restart n, counted from the last time the service was healthy, is delay * backoff^n, at\n"
    "most max_delay. A stop during the delay cancels the restart. A crash loop is slowed down, or\n"
    "ended: see 'start_limit'. grace_period applies to the stop in a restart; it and the service's\n"
    "stop_grace_period default to each other. Unknown keys in 'restart' are reported as warnings.\n"
    "\n"
    "Patterns of 'watch' are relative to the service's folder: * and ? stay within a folder, **\n"
    "crosses folders, [a-z], {a,b}, and ! before a pattern excludes. When a matching file changes or\n"
    "is touched, the service restarts half a second after the first change; changes during the\n"
    "restart do not count. Folders may be created and deleted; only the folder of an absolute pattern\n"
    "elsewhere must exist.\n";

static const char hooks_details[] =
    "Each phase is a step, or a list of steps:\n"
    "\n"
    "  pre_start post_start            around each start; pre_start must succeed\n"
    "  pre_stop post_stop              around a stop, also that of a restart by hand\n"
    "  pre_restart post_restart        around all of a restart\n"
    "  post_exit                       the process ended by itself\n"
    "  pre_cleanup                     before 'stop --clean' forgets the config\n"
    "  post_healthcheck_success _fail  it became healthy, or unhealthy\n"
    "\n"
    "A step without 'if' is skipped after a step of the phase failed. 'if' is true, false or an\n"
    "expression, with or without its marks, that sees the step's variables; it can call success(),\n"
    "failure(), always() and, for a dependency, success('db'), failure('db') and skipped('db'). A\n"
    "step whose 'if' called failure() clears the failure of the phase when it succeeds. Output of\n"
    "steps goes to the log of the service.\n"
    "\n"
    "A pre_start that fails at the start of a service, or in a requested restart, sets it to failed.\n"
    "In a restart by policy it counts as a failed start: nothing is started, and a policy that\n"
    "restarts on failure retries after its delay, at least one second.\n";

static const char outputs_details[] =
    "A one-shot service can pass values to its dependents. With 'output: true' each line\n"
    "'::output::KEY=VALUE' of its standard output is stored instead of logged; 'outputs' are texts\n"
    "that are computed when it has ended, and override lines with the same key. A hook step with\n"
    "'output: NAME' stores its lines as hooks.PHASE.outputs.NAME.KEY. 'output: true' and 'outputs'\n"
    "require 'restart: no'. Dependents read them as deps.NAME.outputs.KEY.\n";

static const char expressions_details[] =
    "${{ expression }}$ inside a text, and blocks with the tag !lua that return a value, are Lua 5.4.\n"
    "A text that consists of one expression keeps its type; elsewhere the result becomes text, and\n"
    "nil becomes empty. $VAR is left to the shell.\n"
    "\n"
    "  service       name, env, env_file, initialized, restart_count,\n"
    "                restart_count_since_healthy, status, exit_code, hooks\n"
    "  deps.NAME     status, exit_code, initialized, restart_count,\n"
    "                restart_count_since_healthy, env, outputs\n"
    "  kepler        env: what the config has captured; flags: -D KEY=VALUE\n"
    "  hook          in hooks: name, env, env_file, had_failure\n"
    "  hooks         service.hooks: PHASE.outputs.STEP.KEY; nil when there are none\n"
    "  owner         uid, gid, user\n"
    "  global        a table that all expressions of one start share; the only one to write to\n"
    "\n"
    "Besides string, table, math, bit32, utf8 there are json.parse, json.stringify(v, pretty),\n"
    "yaml.parse, yaml.stringify, os.time, os.date, os.clock, os.difftime and os.getgroups(user).\n"
    "Expressions cannot access files, programs or the network; memory, instructions and time are\n"
    "limited. The top-level key 'lua' holds functions for all of them. An undefined name is nil.\n"
    "\n"
    "For files written for Luau, its functions are available (string.split, table.find, create,\n"
    "clone, clear, freeze, isfrozen, math.clamp, round, sign, typeof), tostring(10 / 2) is 5, and\n"
    "'for name, dep in deps do' works. Its syntax is not: for '+=', 'continue', `text {x}`, types and\n"
    "'if' as a value, the error message shows the Lua 5.4 equivalent. '..' prints 10 / 2 as 5.0: use\n"
    "10 // 2, or tostring.\n";

static const char acl_details[] =
    "A config belongs to the user who first loads it. Rules let other members of the group 'kepler'\n"
    "use it: 'users' and 'groups' have, for each name or number, a list of rights, or a map with the\n"
    "keys of 'rule'. A caller has the rights of all rules that match, and must be able to read the\n"
    "file; the rules in effect are those of the loaded file. The owner and root have all rights.\n"
    "Rules are not computed: expressions in them are errors.\n"
    "\n"
    "The list of rights is flat: 'start:no-deps' is needed in addition to 'start'. 'all' stands for\n"
    "all rights, 'aliases' define lists of your own, which may name other aliases, two levels deep.\n"
    "Sections of 'inspect' are omitted without their right.\n";

static const char acl_more[] =
    "A user who may set variables (env-override) or reload the file decides what runs as the owner:\n"
    "grant these rights as carefully as the account itself. Without env-override, variables of other\n"
    "users are not passed on.\n";

static const char rule_details[] =
    "'authorize' is the body of function(request, caller) in Lua, run for each request of a caller\n"
    "that the rule matches, the owner included and root excepted. It accepts only by returning true;\n"
    "an error rejects, and its text goes to the daemon log only. A token's own authorizer runs first,\n"
    "then those of the user, then those of the groups by number; all must accept.\n"
    "\n"
    "  request.action    start, run, stop, restart, recreate, status, why, inspect, logs,\n"
    "                    metrics, wait, list\n"
    "  request.params    services, service, no_deps, start_clean, override_envs, hardening, clean,\n"
    "                    signal, filter, include_services, include_environment, include_flags\n"
    "  caller            uid, gid, username, groups (names), token (true or false)\n"
    "\n"
    "Each request gets a fresh state, with the functions of 'acl.lua'. There is less than in\n"
    "expressions: no 'global', only time and clock from os, and globals cannot be set. After a second\n"
    "it is aborted, and the request is rejected; more than 100 ms are logged.\n";

static const char permission_details[] =
    "A list of rights, or a map. The processes of the service, its hooks and health checks have a\n"
    "token in KEPLER_TOKEN, and KEPLER_SOCKET_PATH: 'kepler' in them has these rights and no others,\n"
    "whatever user they run as. On configs of other owners the rules there must grant them, too. The\n"
    "token is new for each run of the service, and ends with it.\n"
    "\n"
    "Other processes of the same user can read the token in /proc, and a process that drops the\n"
    "variable has the rights of its user: give the service its own user outside the group 'kepler'. A\n"
    "config loaded with a token cannot have tokens with more rights than that one.\n";

static const char logs_details[] =
    "Lines are stored unchanged, whatever bytes they contain. A line that is a JSON object provides\n"
    "its message, level and time; its other members become attributes. Other lines have level info\n"
    "from standard output and error from standard error. Under 'kepler' for all services, under a\n"
    "service for that one; there only 'store' and 'retention' are allowed.\n";
/* clang-format on */

const struct config_chapter config_chapters[] = {
    {
        .name = "file",
        .summary = "structure of the file",
        .params = config_root_params,
        .details = file_details,
        .example = "services:\n"
                   "  web:\n"
                   "    command: [\"python3\", \"-m\", \"http.server\", \"8080\"]\n"
                   "    restart: always\n",
    },
    {
        .name = "kepler",
        .summary = "settings of the whole file",
        .where = "kepler",
        .params = config_kepler_params,
        .details =
            "With 'storage: nfs' a flush of logs is complete only when it is on disk. 'timeout'\n"
            "applies to dependents that wait for a start, for health or for a successful end;\n"
            "waiting for a failure, a stop or bad health has no limit.\n",
        .example = "kepler:\n"
                   "  timeout: 5m\n"
                   "  autostart: true\n"
                   "services:\n"
                   "  web: {command: [sleep, infinity]}\n",
    },
    {
        .name = "autostart",
        .summary = "configs that start with the daemon",
        .where = "kepler.autostart",
        .params = config_autostart_params,
        .details =
            "true, or a map. Services that were active when the daemon ended are started again by\n"
            "the next one, in dependency order, from the file as it was read. The environment of\n"
            "the user who started it is not stored, except for the variables named here: a name,\n"
            "or NAME=value.\n",
        .example = "kepler:\n"
                   "  autostart:\n"
                   "    environment: [PATH, LANG, MODE=production]\n"
                   "services:\n"
                   "  web: {run: 'exec ./web --mode $MODE'}\n",
    },
    {
        .name = "acl",
        .summary = "who else may use the config",
        .where = "kepler.acl",
        .params = config_acl_params,
        .details = acl_details,
        .list = right_print_list,
        .more = acl_more,
        .example = "kepler:\n"
                   "  acl:\n"
                   "    aliases:\n"
                   "      look: [status, logs, inspect, inspect:services]\n"
                   "      operate: [look, start, stop, restart]\n"
                   "    users:\n"
                   "      bob: [operate]\n"
                   "    groups:\n"
                   "      developers: [look]\n"
                   "services:\n"
                   "  web: {command: [sleep, infinity]}\n",
    },
    {
        .name = "rule",
        .summary = "a rule with code that decides",
        .where = "kepler.acl.users.NAME and kepler.acl.groups.NAME",
        .params = config_rule_params,
        .details = rule_details,
        .example = "kepler:\n"
                   "  acl:\n"
                   "    lua: |\n"
                   "      function only(request, name)\n"
                   "        local named = request.params.services\n"
                   "        return #named == 1 and named[1] == name\n"
                   "      end\n"
                   "    users:\n"
                   "      bob:\n"
                   "        allow: [restart]\n"
                   "        authorize: return only(request, 'web')\n"
                   "services:\n"
                   "  web: {command: [sleep, infinity]}\n",
    },
    {
        .name = "service",
        .summary = "one service",
        .where = "services.NAME",
        .params = config_service_params,
        .details = service_details,
        .example = "services:\n"
                   "  web:\n"
                   "    run: exec ./web --port \"$PORT\"\n"
                   "    working_dir: app\n"
                   "    environment:\n"
                   "      - PORT=8080\n"
                   "      - URL=http://localhost:${{ service.env.PORT }}$\n"
                   "    stop_signal: SIGINT\n"
                   "    stop_grace_period: 30s\n",
    },
    {
        .name = "depends_on",
        .summary = "dependencies of a service",
        .where = "services.NAME.depends_on",
        .params = config_edge_params,
        .details = depends_details,
        .list = condition_print_list,
        .more = depends_more,
        .example = "services:\n"
                   "  db:\n"
                   "    command: [\"postgres\"]\n"
                   "    healthcheck: {test: [\"pg_isready\"], interval: 5s}\n"
                   "  web:\n"
                   "    command: [\"./web\"]\n"
                   "    depends_on:\n"
                   "      db: {condition: service_healthy, timeout: 60s, restart: true}\n"
                   "  report:\n"
                   "    command: [\"./report\"]\n"
                   "    depends_on:\n"
                   "      web: {condition: service_failed, exit_code: [1, \"5:10\"]}\n",
    },
    {
        .name = "state",
        .summary = "states of this machine that a service waits for",
        .where = "services.NAME.depends_on.state",
        .params = config_state_params,
        .details = state_details,
        .example = "services:\n"
                   "  db:\n"
                   "    command: [\"postgres\"]\n"
                   "    depends_on: {state: highstate}\n"
                   "  web:\n"
                   "    command: [\"./web\"]\n"
                   "    depends_on:\n"
                   "      db:\n"
                   "      state:\n"
                   "        /etc/web.conf: {restart: true}\n"
                   "        pkg.installed:certs: {timeout: 5m}\n",
    },
    {
        .name = "restart",
        .summary = "restart policies",
        .where = "services.NAME.restart",
        .params = config_restart_params,
        .details = restart_details,
        .example = "services:\n"
                   "  worker:\n"
                   "    command: [\"./worker\"]\n"
                   "    restart:\n"
                   "      policy: on-failure|on-unhealthy\n"
                   "      delay: 1s\n"
                   "      backoff: 2.0\n"
                   "      max_delay: 1m\n"
                   "      watch: [\"src/**/*.py\", \"!src/tests/**\"]\n",
    },
    {
        .name = "start_limit",
        .summary = "limits on crash loops",
        .where = "services.NAME.start_limit",
        .params = config_start_limit_params,
        .details =
            "A service that its policy has restarted too often within the interval is left as\n"
            "'failed', with a reason that 'kepler ps' shows; services that wait for its failure\n"
            "or its stop start then, also with 'restart: always'. A manual start resets the\n"
            "count. Without a limit a crash loop never ends, but after 20 restarts in 10s each\n"
            "delay is at least a second, until the service has held for 10s; 'count: 0' allows it\n"
            "at full speed.\n",
        .example = "services:\n"
                   "  web:\n"
                   "    command: [\"./web\"]\n"
                   "    restart: always\n"
                   "    start_limit: {count: 5, interval: 1m}\n",
    },
    {
        .name = "healthcheck",
        .summary = "health checks",
        .where = "services.NAME.healthcheck",
        .params = config_health_params,
        .details =
            "One of 'test', 'command' and 'run'. The first pass makes the service healthy;\n"
            "'retries' failures in a row make it unhealthy. A check that takes longer than\n"
            "'timeout' has failed and is killed with its descendants. It runs in the service's\n"
            "folder and environment.\n",
        .example = "services:\n"
                   "  web:\n"
                   "    command: [\"./web\"]\n"
                   "    healthcheck:\n"
                   "      run: curl -fsS http://localhost:8080/health\n"
                   "      interval: 10s\n"
                   "      timeout: 2s\n"
                   "      start_period: 5s\n",
    },
    {
        .name = "hooks",
        .summary = "hooks on events of a service's life cycle",
        .where = "services.NAME.hooks.PHASE",
        .params = config_step_params,
        .details = hooks_details,
        .example = "services:\n"
                   "  web:\n"
                   "    command: [\"./web\"]\n"
                   "    hooks:\n"
                   "      pre_start:\n"
                   "        - run: ./migrate\n"
                   "          timeout: 2m\n"
                   "        - if: ${{ failure() }}$\n"
                   "          run: ./migrate --repair\n"
                   "      post_stop: {run: rm -f web.sock}\n",
    },
    {
        .name = "limits",
        .summary = "resource limits of a process",
        .where = "services.NAME.limits",
        .params = config_limit_params,
        .details = "Limits of each process, soft and hard.\n",
        .example = "services:\n"
                   "  web:\n"
                   "    command: [\"./web\"]\n"
                   "    limits: {memory: 512M, max_fds: 4096}\n",
    },
    {
        .name = "permissions",
        .summary = "rights of a service towards the daemon",
        .where = "services.NAME.permissions",
        .params = config_permission_params,
        .details = permission_details,
        .example = "services:\n"
                   "  web: {command: [sleep, infinity]}\n"
                   "  watcher:\n"
                   "    run: |\n"
                   "      while sleep 60; do kepler -f kepler.yaml ps | grep -q unhealthy && "
                   "kepler -f kepler.yaml restart web; done\n"
                   "    permissions: [status, restart]\n",
    },
    {
        .name = "logs",
        .summary = "storage of logs",
        .where = "kepler.logs and services.NAME.logs",
        .params = config_logs_params,
        .details = logs_details,
        .example = "kepler:\n"
                   "  logs:\n"
                   "    retention_period: 7d\n"
                   "    retention: {on_stop: clear}\n"
                   "services:\n"
                   "  noisy:\n"
                   "    command: [\"./noisy\"]\n"
                   "    logs: {store: {stdout: false}}\n",
    },
    {
        .name = "retention",
        .summary = "retention of logs",
        .where = "logs.retention",
        .params = config_retention_params,
        .details =
            "'clear' or 'retain' for each event in a service's life; 'on_exit' stands for both\n"
            "'on_success' and 'on_failure'. All are 'retain' by default: lines stay until 'stop "
            "--clean',\n"
            "or until they exceed 'max_size' or 'retention_period'.\n",
        .example = "services:\n"
                   "  job:\n"
                   "    command: [\"./job\"]\n"
                   "    logs: {retention: {on_success: clear, on_stop: clear}}\n",
    },
    {
        .name = "monitor",
        .summary = "metrics of services",
        .where = "kepler.monitor",
        .params = config_monitor_params,
        .details =
            "CPU and memory of all processes of each running service, sampled from the first\n"
            "start of a service on. Metrics survive a stop and are removed by 'stop --clean';\n"
            "'kepler top' shows them.\n",
        .example = "kepler:\n"
                   "  monitor: {interval: 5s, retention_period: 7d}\n"
                   "services:\n"
                   "  web: {command: [sleep, infinity]}\n",
    },
    {
        .name = "outputs",
        .summary = "values passed between services",
        .details = outputs_details,
        .example =
            "services:\n"
            "  setup:\n"
            "    run: echo '::output::port=9090'\n"
            "    output: true\n"
            "    outputs: {url: 'http://localhost'}\n"
            "  web:\n"
            "    command: [\"./web\"]\n"
            "    depends_on:\n"
            "      setup: {condition: service_completed_successfully}\n"
            "    environment:\n"
            "      - ADDRESS=${{ deps.setup.outputs.url }}$:${{ deps.setup.outputs.port }}$\n",
    },
    {
        .name = "expressions",
        .summary = "computed values, in Lua",
        .details = expressions_details,
        .example = "lua: |\n"
                   "  function port(n) return 8000 + n end\n"
                   "services:\n"
                   "  web:\n"
                   "    if: ${{ kepler.flags.web ~= 'no' }}$\n"
                   "    command: [\"./web\", \"--port\", \"${{ port(80) }}$\"]\n"
                   "    environment: !lua |\n"
                   "      return { MODE = kepler.env.MODE or \"development\" }\n",
    },
    { .name = NULL },
};
