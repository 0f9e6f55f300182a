"""Templates by chance: mostly valid, typed so that most of them render, wild enough to find corners."""
import random

CONTEXT = {
    "n": 7, "zero": 0, "neg": -3, "big": 1 << 40, "f": 2.5, "third": 0.1, "yes": True, "no": False,
    "nil": None, "s": "Hello World", "empty": "", "uni": "gr\u00fc\u00dfe \u03a3\u03c2 \u4f60", "ws": "  a b\t c\n",
    "html": "<a href='x'>&amp; \"q\"</a>", "path": "/etc/nginx/nginx.conf", "csv": "a,b,,c",
    "ints": [3, 1, 2, 3], "none_list": [], "words": ["beta", "Alpha", "gamma", "alpha"],
    "mixed": [1, "two", 3.0, None, True], "nested": [[1, 2], [3, [4]], []],
    "d": {"b": 2, "a": 1, "C": 3}, "users": [
        {"name": "ann", "age": 31, "tags": ["x", "y"]},
        {"name": "Bob", "age": 25, "tags": []},
        {"name": "cid", "age": 31, "tags": ["y"]},
    ],
    "deep": {"a": {"b": {"c": [10, 20, {"k": "v"}]}}}, "ed": {},
}

NAMES = {
    "int": ["n", "zero", "neg", "big", "deep.a.b.c[0]", "users[0].age", "ints[1]", "loop.index|default(1)"],
    "float": ["f", "third"],
    "str": ["s", "empty", "uni", "ws", "html", "path", "csv", "users[1].name", "deep.a.b.c[2].k", "words[0]"],
    "list": ["ints", "none_list", "words", "mixed", "nested", "users", "deep.a.b.c"],
    "dict": ["d", "users[0]", "deep", "deep.a", "ed"],
    "bool": ["yes", "no"],
}
LITERALS = {
    "int": ["0", "1", "2", "-5", "42", "1_000", "0x1f", "0b101", "0o17"],
    "float": ["0.5", "1e3", "2.0", "1.5e-3", "-0.25"],
    "str": ["'x'", '"y z"', "''", r"'a\nb'", r'"\u00e9"', "'%s-%s'", "'{} {}'", "'A' 'B'"],
    "list": ["[]", "[1, 2, 3]", "['b', 'a']", "(1, 2)", "[[1, 'a'], [2, 'b']]", "[1, 2.5, 'x', none]"],
    "dict": ["{}", "{'a': 1, 'b': [2]}", "{'x': {'y': none}}", "{1: 'one', 'two': 2}"],
    "bool": ["true", "false", "True", "none is none"],
}
STR_METHODS = ["upper()", "lower()", "title()", "capitalize()", "swapcase()", "strip()", "lstrip()", "rstrip('d')",
               "replace('o', '0')", "replace('l', 'L', 1)", "center(15, '*')", "ljust(12, '.')", "rjust(12)", "zfill(14)",
               "expandtabs(4)", "removeprefix('He')", "removesuffix('d')", "format(1, 2)", "casefold()"]
STR_TO_LIST = ["split()", "split(',')", "split('o', 1)", "rsplit(None, 1)", "splitlines()", "partition(' ')", "rpartition('o')"]
STR_TO_INT = ["find('o')", "rfind('o')", "count('l')"]
STR_TO_BOOL = ["startswith('H')", "endswith('d')", "isdigit()", "isalpha()", "isupper()", "islower()", "isspace()",
               "istitle()", "isalnum()", "startswith(('a', 'H'))"]
STR_FILTERS = ["upper", "lower", "title", "capitalize", "trim", "trim('H')", "replace('o', '0')", "truncate(5)", "truncate(8, true)",
               "truncate(6, false, '..', 0)", "indent", "indent(2, true)", "indent(3, first=true, blank=true)", "wordwrap(5)",
               "center(20)", "escape", "e", "striptags", "urlencode", "string", "reverse", "forceescape", "safe", "default('q')",
               "wordwrap(7, break_long_words=false)", "format(1, 2)", "d('z', true)", "xmlattr" ]
LIST_FILTERS = ["sort", "sort(reverse=true)", "sort(case_sensitive=true)", "unique|list", "reverse|list", "list",
                "batch(2)|list", "batch(2, 0)|list", "slice(2)|list", "slice(3, 'f')|list", "map('string')|list",
                "map('upper')|list", "select('string')|list", "reject('none')|list", "select('number')|list", "select|list",
                "map(attribute='name')|list", "selectattr('age', 'gt', 30)|list", "rejectattr('tags')|list",
                "sort(attribute='age')", "sort(attribute='age,name')", "groupby('age')", "groupby('age')|map('last')|list",
                "map(attribute='zip', default=0)|list", "map('default', 'd')|list", "sort(attribute='name', reverse=true)"]
LIST_TO_ANY = ["first", "last", "length", "count", "min", "max", "sum", "join", "join(', ')", "join('|', attribute='name')",
               "sum(attribute='age')", "max(attribute='age')", "tojson", "pprint", "string", "random|default(1) is defined"]
INT_FILTERS = ["abs", "int", "round|int", "float|int", "string|int", "default(3)"]
FLOAT_FILTERS = ["round", "round(1)", "round(2, 'ceil')", "round(0, 'floor')", "abs", "float", "int|float"]
TESTS = ["defined", "undefined", "none", "string", "number", "integer", "float", "mapping", "sequence", "iterable", "boolean",
         "true", "false", "callable", "escaped"]
INT_TESTS = ["odd", "even", "divisibleby(3)", "divisibleby 2", "eq 7", "gt(2)", "lt 5", "ge 3", "le 7", "ne 0", "in ints", "in [7, 8]"]


class Maker:
    def __init__(self, seed):
        self.r = random.Random(seed)
        self.names = 0

    def one(self, items):
        return self.r.choice(items)

    def chance(self, p):
        return self.r.random() < p

    # --- expressions -------------------------------------------------------------------

    def leaf(self, kind):
        return self.one(NAMES[kind] if self.chance(0.6) else LITERALS[kind])

    def expr(self, kind, depth):
        if depth <= 0 or self.chance(0.2):
            return self.leaf(kind)
        if self.chance(0.06):
            return "(%s if %s else %s)" % (self.expr(kind, depth - 1), self.expr("bool", depth - 1), self.expr(kind, depth - 1))
        if self.chance(0.04):
            return "(%s %s %s)" % (self.expr(kind, depth - 1), self.one(["or", "and"]), self.expr(kind, depth - 1))
        return getattr(self, "make_" + kind)(depth - 1)

    def any(self, depth):
        return self.expr(self.one(["int", "float", "str", "str", "list", "list", "dict", "bool"]), depth)

    def make_int(self, depth):
        pick = self.r.randrange(7)
        if pick == 0:
            return "%s %s %s" % (self.expr("int", depth), self.one(["+", "-", "*"]), self.expr("int", depth))
        if pick == 1:
            return "(%s %s %s)" % (self.expr("int", depth), self.one(["//", "%"]), self.one(["2", "3", "-4", "n", "zero"]))
        if pick == 2:
            return "%s|%s" % (self.paren("int", depth), self.one(INT_FILTERS))
        if pick == 3:
            return "%s|length" % self.paren(self.one(["str", "list", "dict"]), depth)
        if pick == 4:
            return "%s.%s" % (self.paren("str", depth), self.one(STR_TO_INT))
        if pick == 5:
            return "(%s ** %s)" % (self.one(["2", "3", "n", "-1"]), self.one(["2", "3", "0"]))
        return "-%s" % self.paren("int", depth)

    def make_float(self, depth):
        pick = self.r.randrange(4)
        if pick == 0:
            return "(%s / %s)" % (self.expr("int", depth), self.one(["2", "4", "7", "f"]))
        if pick == 1:
            return "%s|%s" % (self.paren("float", depth), self.one(FLOAT_FILTERS))
        if pick == 2:
            return "(%s %s %s)" % (self.expr("float", depth), self.one(["+", "-", "*"]), self.expr("int", depth))
        return "%s|float" % self.paren("str", depth)

    def paren(self, kind, depth):
        return "(%s)" % self.expr(kind, depth)

    def make_str(self, depth):
        pick = self.r.randrange(10)
        if pick == 0:
            return "%s ~ %s" % (self.any(depth), self.any(depth))
        if pick <= 2:
            return "%s|%s" % (self.paren("str", depth), self.one(STR_FILTERS))
        if pick <= 4:
            return "%s.%s" % (self.paren("str", depth), self.one(STR_METHODS))
        if pick == 5:
            return "%s|%s|string" % (self.paren("list", depth), self.one(LIST_TO_ANY))
        if pick == 6:
            return "%s[%s]" % (self.paren("str", depth), self.slice())
        if pick == 7:
            return "('%%s|%%5d|%%-6s|%%.2f|%%x' %% (%s, %s, %s, f, 255))" % (self.expr("str", depth), self.expr("int", depth), self.expr("str", depth))
        if pick == 8:
            return "'{0:>8}|{1:<5}|{2!r}'.format(%s, %s, %s)" % (self.expr("str", depth), self.expr("int", depth), self.any(depth))
        return "%s * %s" % (self.paren("str", depth), self.one(["0", "1", "2", "3"]))

    def slice(self):
        return self.one(["1:", ":2", "1:3", "::2", "::-1", "-2:", ":-1", "0", "-1", "5:1:-1", "n:"])

    def make_list(self, depth):
        pick = self.r.randrange(8)
        if pick <= 2:
            return "%s|%s" % (self.paren("list", depth), self.one(LIST_FILTERS))
        if pick == 3:
            return "%s.%s" % (self.paren("str", depth), self.one(STR_TO_LIST))
        if pick == 4:
            return "[%s]" % ", ".join(self.any(depth) for _ in range(self.r.randrange(4)))
        if pick == 5:
            return "%s[%s]" % (self.paren("list", depth), self.one(["1:", ":2", "::2", "::-1", "-2:"]))
        if pick == 6:
            return "%s|%s" % (self.paren("dict", depth), self.one(["list", "dictsort", "dictsort(by='value')", "items|list", "dictsort(true)", "dictsort(reverse=true)"]))
        return "range(%s)|list" % self.one(["3", "n", "1, 5", "10, 0, -3", "0"])

    def make_dict(self, depth):
        pick = self.r.randrange(3)
        if pick == 0:
            return "{%s}" % ", ".join("'k%d': %s" % (i, self.any(depth)) for i in range(self.r.randrange(3)))
        if pick == 1:
            return "dict(%s, x=%s)" % (self.expr("dict", depth), self.any(depth))
        return "dict(a=%s, b=%s)" % (self.any(depth), self.any(depth))

    def make_bool(self, depth):
        pick = self.r.randrange(8)
        if pick == 0:
            return "%s %s %s" % (self.expr("int", depth), self.one(["<", "<=", ">", ">=", "==", "!="]), self.expr("int", depth))
        if pick == 1:
            return "%s %s %s" % (self.expr("int", depth), self.one(["in", "not in"]), self.expr("list", depth))
        if pick == 2:
            return "%s %s %s" % (self.expr("str", depth), self.one(["in", "==", "<", ">="]), self.expr("str", depth))
        if pick == 3:
            return "%s is %s%s" % (self.any(depth), self.one(["", "not "]), self.one(TESTS))
        if pick == 4:
            return "%s is %s%s" % (self.expr("int", depth), self.one(["", "not "]), self.one(INT_TESTS))
        if pick == 5:
            return "not %s" % self.paren("bool", depth)
        if pick == 6:
            return "%s.%s" % (self.paren("str", depth), self.one(STR_TO_BOOL))
        return "1 < %s < 10" % self.expr("int", depth)

    # --- statements ----------------------------------------------------------------------

    def tag(self, text):
        return "{%%%s %s %s%%}" % (self.one(["", "", "", "-", "+"]), text, self.one(["", "", "", "-"]))

    def text(self):
        return self.one(["a", " b ", "\n", "x\n", "  \n", " ", "c\td", "", "\n\n", "{", "}", "$", "\u00e9"])

    def output(self):
        if self.chance(0.1):
            return "{{ %s }}" % self.one(["missing", "d.missing", "missing.x", "ints[99]", "d['zz']|default('dd')", "missing is defined",
                                          "users[0].nope|default(5)", "loop", "missing|default(n)", "nil", "d.items()|list", "d.keys()|sort",
                                          "d.values()|list", "d.get('a')", "d.get('q', 'none')", "ints.index(2)", "ints.count(3)"])
        return "{{%s %s %s}}" % (self.one(["", "", "-"]), self.any(3), self.one(["", "", "-"]))

    def name(self):
        self.names += 1
        return "v%d" % self.names

    def body(self, depth):
        return "".join(self.piece(depth) for _ in range(self.r.randrange(1, 4)))

    def piece(self, depth):
        pick = self.r.randrange(18) if depth > 0 else self.r.randrange(5)
        if pick < 2:
            return self.text()
        if pick < 5:
            return self.output()
        if pick < 8:
            return self.make_for(depth - 1)
        if pick < 10:
            return self.make_if(depth - 1)
        if pick < 12:
            v = self.name()
            return self.tag("set %s = %s" % (v, self.any(2))) + self.text() + "{{ %s }}" % v
        if pick == 12:
            v = self.name()
            return self.tag("set %s" % v) + self.body(depth - 1) + self.tag("endset") + "{{ %s|length }}{{ %s }}" % (v, v)
        if pick == 13:
            m = self.name()
            return (self.tag("macro %s(a, b=%s, c='q')" % (m, self.leaf("int"))) + "{{ a }}-{{ b }}-{{ c }}" + self.body(depth - 1)
                    + self.tag("endmacro") + "{{ %s(%s%s) }}" % (m, self.any(1), self.one(["", ", 2", ", c=3", ", b=1, c=2", ", *[5]", ", **{'c': 9}"])))
        if pick == 14:
            return self.tag("with x = %s, y = 2" % self.any(1)) + "{{ x }}{{ y }}" + self.body(depth - 1) + self.tag("endwith")
        if pick == 15:
            return self.tag("filter %s" % self.one(["upper", "trim", "replace('a', 'b')", "indent(2)", "escape"])) + self.body(depth - 1) + self.tag("endfilter")
        if pick == 16:
            return self.one(["{# c #}", "{#- c -#}", "{% raw %}{{ x }}{% endraw %}", "{%- raw -%} {% y %} {%- endraw -%}"])
        ns = self.name()
        return (self.tag("set %s = namespace(t=0)" % ns) + self.tag("for i in ints") + self.tag("set %s.t = %s.t + i" % (ns, ns))
                + self.tag("endfor") + "{{ %s.t }}" % ns)

    def make_if(self, depth):
        out = self.tag("if %s" % self.expr("bool", 2)) + self.body(depth)
        if self.chance(0.3):
            out += self.tag("elif %s" % self.expr("bool", 1)) + self.body(depth)
        if self.chance(0.5):
            out += self.tag("else") + self.body(depth)
        return out + self.tag("endif")

    def make_for(self, depth):
        head, use = self.one([("x in %s" % self.expr("list", 2), "{{ x }}"), ("k, v in %s.items()" % self.leaf("dict"), "{{ k }}={{ v }}"),
                              ("x in ints if x > 1", "{{ x }}{{ loop.index }}"), ("c in %s" % self.expr("str", 1), "{{ c }}"),
                              ("a, b in [[1, 2], [3, 4]]", "{{ a }}{{ b }}"), ("u in users", "{{ u.name }}{{ loop.revindex }}")])
        out = self.tag("for " + head) + use
        if self.chance(0.4):
            out += self.one(["{{ loop.first }}", "{{ loop.last }}", "{{ loop.cycle('o', 'e') }}", "{{ loop.index0 }}/{{ loop.length }}",
                             "{{ loop.previtem|default('-') }}", "{{ loop.nextitem|default('-') }}", "{{ loop.changed(loop.index // 2) }}", "{{ loop.depth }}"])
        if self.chance(0.15):
            out += self.tag("if loop.index > 1") + self.tag(self.one(["break", "continue"])) + self.tag("endif")
        out += self.body(depth)
        if self.chance(0.3):
            out += self.tag("else") + self.body(depth)
        return out + self.tag("endfor")

    def template(self):
        return "".join(self.piece(2) for _ in range(self.r.randrange(1, 5)))
