"""Compares the verdicts of source records on versions with those of the published ones, without any code of the server.

    judge.py SOURCE OUTPUT GO_ORDER RUST_ORDER READER PAIRS

SOURCE contains imported records: OSV (JSON or YAML, single or in lists), RustSec (Markdown), Wolfi (*.advisories.yaml), GitHub
(API responses). OUTPUT contains the fetched osv/, openvex/, csaf/, secdb/ and vex/ (the unpacked repository). GO_ORDER and
RUST_ORDER rank versions (orders-go, orders-rust); packaging ranks PyPI's, univers the rest. READER (reader-go) reads OpenVEX
with the scanners' library. Prints one JSON object, and writes the verdicts of the published OSV records to PAIRS, one per line:
[id, ecosystem, name, version, verdict].

Each record and package has a pair of verdicts for each listed version, each bound, and the next version below and above it.
OpenVEX and secdb are read as scanners do: by any name of the vulnerability, a statement without a version applies to every
version, and both the first and the last matching statement count, since scanners differ.
"""

import functools
import json
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from urllib.parse import quote, unquote

import yaml
from packaging.version import InvalidVersion, Version
from univers import versions as univers

SOURCE, OUTPUT, GO_ORDER, RUST_ORDER, READER, PAIRS = sys.argv[1:7]
SHOWN = 20

# ---- orders: a version's rank in its order ------------------------------------------------------------------------

GO = {"Go", "npm", "Hex", "Julia", "SwiftURL", "GitHub Actions", "VSCode", "GHC"}
UNIVERS = {
    "RubyGems": univers.RubygemsVersion,
    "Maven": univers.MavenVersion,
    "NuGet": univers.NugetVersion,
    "Packagist": univers.ComposerVersion,
    "Debian": univers.DebianVersion,
    "Ubuntu": univers.DebianVersion,
    **{name: univers.RpmVersion for name in ["AlmaLinux", "Rocky Linux", "Red Hat", "SUSE", "openSUSE", "openEuler", "Mageia", "Azure Linux"]},
    **{name: univers.AlpineLinuxVersion for name in ["Alpine", "Wolfi", "Chainguard", "MinimOS", "Alpaquita"]},
}
LISTS = {"Hackage", "CRAN", "Bioconductor"}
SEMVER = "SemVer"


def order_of(ecosystem, kind="ECOSYSTEM"):
    """Returns the name of a range's order, or None."""
    name = ecosystem.split(":")[0]
    if name in ("crates.io", "Bitnami"):
        return name
    if kind == "SEMVER" or name in GO:
        return SEMVER
    return name if name == "PyPI" or name in UNIVERS or name in LISTS or name == "opam" else None


def debian_words(text):
    """Returns Debian's comparison key of one part, which is opam's whole order."""
    key = []
    for word, number in re.findall(r"([^0-9]*)([0-9]*)", text):
        key.append([-1 if c == "~" else ord(c) if c.isalpha() else ord(c) + 256 for c in word] + [0])
        key.append([int(number or 0)])
    return key + [[0]]


def bitnami_key(text):
    """Returns a key: SemVer of the upstream version, then the package revision (default: 0)."""
    revised = re.fullmatch(r"(.+)-(\d+)", text)
    upstream, revision = (revised[1], int(revised[2])) if revised else (text, 0)
    found = re.fullmatch(r"[vV]?(\d+(?:\.\d+)*)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?", upstream)
    if not found:
        return None
    numbers = [int(part) for part in found[1].split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    words = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in (found[2] or "").split(".") if found[2]]
    return numbers, not words, words, revision


def read_version(order, text):
    """Returns a sort key, or None for an invalid version."""
    try:
        if order == "Bitnami":
            return bitnami_key(text)
        if order == "PyPI":
            return Version(text)
        if order in LISTS:
            return [int(part) for part in re.split(r"[.-]", text)]
        if order == "opam":
            return debian_words(text)
        if UNIVERS[order] is univers.AlpineLinuxVersion:
            # Like Gentoo, univers treats -r0 and no revision as equal; apk sorts no revision first.
            bare, revision = re.fullmatch(r"(.*?)(?:-r(\d+))?", text).groups()
            return univers.AlpineLinuxVersion(bare), -1 if revision is None else int(revision)
        return UNIVERS[order](text)
    except (InvalidVersion, ValueError, TypeError, AttributeError, univers.InvalidVersion):
        return None


def rank_by_program(program, texts):
    told = subprocess.run([program], input="\n".join(texts) + "\n", capture_output=True, text=True, check=True).stdout.split("\n")
    return {text: int(rank) for text, rank in zip(texts, told) if rank != "-"}


def rank_all(order, texts):
    texts = sorted(text for text in texts if text != "" and "\n" not in text)
    if order in (SEMVER, "crates.io"):
        return rank_by_program(GO_ORDER if order == SEMVER else RUST_ORDER, texts) if texts else {}
    read = [(found, text) for text in texts if (found := read_version(order, text)) is not None]
    ranks = {}
    rank = 0
    # By comparison only, since some libraries have just "<" and "==".
    def compare(one, other):
        return -1 if one[0] < other[0] else 1 if other[0] < one[0] else 0

    read.sort(key=functools.cmp_to_key(compare))
    for index, (found, text) in enumerate(read):
        if index > 0 and compare(read[index - 1], (found, text)) != 0:
            rank += 1
        ranks[text] = rank
    return ranks


# ---- neighbouring versions -------------------------------------------------------------------------------------------


def plus_one(text):
    return str(int(text) + 1)


def semver_neighbours(version):
    bare = re.sub(r"^(?:v|go)", "", version).split("+")[0]
    found = re.fullmatch(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-(.+))?", bare)
    if not found:
        return []
    major, minor, patch, pre = found[1], found[2] or "0", found[3] or "0", found[4]
    core = f"{major}.{minor}.{patch}"
    around = [core, f"{core}-0", f"{core}-zzz", f"{major}.{minor}.{plus_one(patch)}-0", f"{major}.{minor}.{plus_one(patch)}", f"{major}.{plus_one(minor)}.0"]
    if patch != "0":
        around.append(f"{major}.{minor}.{int(patch) - 1}")
    elif minor != "0":
        around.append(f"{major}.{int(minor) - 1}.999")
    elif major != "0":
        around.append(f"{int(major) - 1}.999.999")
    return around + ([f"{core}-{pre}.0", f"{core}-{pre}z"] if pre else [])


def last_number(version, change):
    found = re.search(r"(\d+)(\D*)$", version)
    if not found or int(found[1]) + change < 0:
        return []
    return [version[: found.start(1)] + str(int(found[1]) + change) + found[2]]


def neighbours(order, version):
    if order in (SEMVER, "crates.io"):
        return semver_neighbours(version)
    around = last_number(version, 1) + last_number(version, -1)
    if order == "PyPI":
        base = version.split("+")[0]
        return around + [f"{base}.dev0", f"{base}rc1", f"{base}.post1", f"{base}.1", f"{base}+local"]
    if order == "RubyGems":
        return around + [f"{version}.a", f"{version}.1"]
    if order == "Maven":
        return around + [f"{version}-alpha", f"{version}-SNAPSHOT", f"{version}-1", f"{version}.1"]
    if order in ("NuGet", "Packagist"):
        return around + [f"{version}-alpha", f"{version}.1"]
    if order in ("Debian", "Ubuntu", "opam"):
        return around + [f"{version}~", f"{version}+a"]
    if UNIVERS.get(order) is univers.RpmVersion:
        return around + [f"{version}~", f"{version}.1"]
    if UNIVERS.get(order) is univers.AlpineLinuxVersion:
        bare = re.sub(r"-r\d+$", "", version)
        return around + [bare, f"{bare}_rc1", f"{bare}_p1", f"{bare}-r999"]
    return around + [f"{version}.1", f"{version}.0"]


# ---- records as claims: one document about one package ---------------------------------------------------------------


class Claim:
    """The lists and ranges of one package. A range has an order and events (kind, version), or safe intervals for RustSec."""

    def __init__(self, ecosystem):
        self.ecosystem = ecosystem
        self.versions = set()
        self.ranges = []
        self.safe = []
        self.is_git_only = False
        self.has_safe = False

    def bounds(self):
        """Returns (order, version) of each bound."""
        own = order_of(self.ecosystem)
        found = {(own, version) for version in self.versions}
        for order, events in self.ranges:
            found |= {(order, version) for kind, version in events if version != "*" and (kind, version) != ("introduced", "0")}
        for low, _, high, _ in self.safe:
            found |= {(own, version) for version in (low, high) if version is not None}
        return found

    def verdict(self, version, ranks):
        if version in self.versions:
            return "affected"
        own = order_of(self.ecosystem)
        mine = ranks.get(own, {}).get(version)
        if mine is not None and any(ranks[own].get(each) == mine for each in self.versions):
            return "affected"
        if self.has_safe:
            return self.verdict_beside(mine, ranks[own])
        verdicts = {verdict_in_range(events, version, ranks.get(order, {}), UNIVERS.get(order) is univers.AlpineLinuxVersion) for order, events in self.ranges}
        for verdict in ("affected", "not judged"):
            if verdict in verdicts:
                return verdict
        return "not judged" if self.is_git_only else "unaffected"

    def verdict_beside(self, mine, ranks):
        """RustSec lists safe versions; all others are affected."""
        if mine is None:
            return "not judged"
        for low, has_low, high, has_high in self.safe:
            above = low is None or mine > ranks[low] or (has_low and mine == ranks[low])
            below = high is None or mine < ranks[high] or (has_high and mine == ranks[high])
            if above and below:
                return "unaffected"
        return "affected"


APK = re.compile(r"[0-9]+(\.[0-9]+)*[a-z]?(_(alpha|beta|pre|rc|cvs|svn|git|hg|p)[0-9]*)*(-r[0-9]+)?")
TURN = {"introduced": 0, "last_affected": 1, "fixed": 2, "limit": 3}


def verdict_in_range(events, version, ranks, is_apk=False):
    """Evaluates a range as the schema does, event by event."""
    if all(event == ("introduced", "0") for event in events) and events:
        return "affected"
    if version not in ranks and is_apk and APK.fullmatch(version):
        # univers cannot parse some apk versions, but a version equal to the only bound needs no order.
        bounds = {bound for kind, bound in events if (kind, bound) != ("introduced", "0")}
        ranks = {version: 0} if bounds == {version} else ranks
    mine = ranks.get(version)
    placed = []
    for kind, bound in events:
        place = -1 if (kind, bound) == ("introduced", "0") else float("inf") if bound == "*" else ranks.get(bound)
        if place is None or mine is None:
            return "not judged"
        placed.append((place, TURN[kind], kind))
    limits = [place for place, _, kind in placed if kind == "limit"]
    if limits and not any(mine < place for place in limits):
        return "unaffected"
    is_affected = False
    for place, _, kind in sorted(placed):
        if kind == "introduced" and mine >= place:
            is_affected = True
        if kind == "fixed" and mine >= place:
            is_affected = False
        if kind == "last_affected" and mine > place:
            is_affected = False
    return "affected" if is_affected else "unaffected"


def pypi_name(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def osv_claims(record):
    """Returns claims by (ecosystem, name)."""
    claims = {}
    for entry in record.get("affected") or []:
        package = entry.get("package") or {}
        if not package.get("name"):
            continue
        ecosystem, name = package["ecosystem"], package["name"]
        key = (ecosystem, pypi_name(name) if ecosystem == "PyPI" else name)
        claim = claims.setdefault(key, Claim(ecosystem))
        claim.versions |= {str(version) for version in entry.get("versions") or []}
        ranges = entry.get("ranges") or []
        of_versions = [each for each in ranges if each["type"] != "GIT"]
        for each in of_versions:
            events = [(kind, str(version)) for event in each["events"] for kind, version in event.items()]
            claim.ranges.append((order_of(ecosystem, each["type"]), events))
        if ranges and not of_versions and not entry.get("versions"):
            claim.is_git_only = True
    return claims


def cargo_interval(requirement):
    """Returns (low, has low, high, has high) of the matching versions, pre-releases in SemVer order."""
    low, high = (None, True), (None, True)
    for part in requirement.split(","):
        operator, number = re.fullmatch(r"\s*(>=|<=|>|<|=|\^|~|)\s*(\S*)\s*", part).groups()
        if number == "*":
            continue
        core, _, pre = number.partition("-")
        given = [int(each) for each in core.split("+")[0].split(".") if each not in ("*", "x")]
        if "*" in core:
            operator = "~"
        full = ".".join(str(each) for each in (given + [0, 0])[:3]) + (f"-{pre}" if pre else "")
        if operator in (">=", "^", "~", "", "="):
            low = (full, True)
        if operator == ">":
            low = (full, False)
        if operator == "<":
            high = (full, False)
        if operator in ("<=", "="):
            high = (full, True)
        if operator == "~":
            high = (f"{given[0]}.{given[1] + 1}.0-0" if len(given) > 1 else f"{given[0] + 1}.0.0-0", False)
        if operator in ("^", ""):
            kept = next((index for index, each in enumerate(given) if each > 0), len(given) - 1)
            raised = given[:kept] + [given[kept] + 1]
            high = (".".join(str(each) for each in (raised + [0, 0])[:3]) + "-0", False)
    return (*low, *high)


def rustsec_record(text):
    head = tomllib.loads(re.match(r"```toml\n(.*?)\n```", text, re.S)[1])
    advisory, versions = head["advisory"], head.get("versions") or {}
    if not versions:
        versions = {"patched": advisory.get("patched_versions", []), "unaffected": advisory.get("unaffected_versions", [])}
    claim = Claim("crates.io")
    claim.has_safe = True
    claim.safe = [cargo_interval(each) for each in versions.get("patched", []) + versions.get("unaffected", [])]
    return advisory["id"], bool(advisory.get("withdrawn")), {("crates.io", advisory["package"]): claim}


GITHUB_ECOSYSTEMS = {
    "pip": "PyPI", "composer": "Packagist", "rust": "crates.io", "erlang": "Hex", "swift": "SwiftURL", "go": "Go", "maven": "Maven", "npm": "npm",
    "nuget": "NuGet", "pub": "Pub", "rubygems": "RubyGems", "actions": "GitHub Actions",
}  # fmt: skip


def github_record(document):
    """Reads GitHub's comparisons; an upper bound is replaced by the first patched version, if named."""
    claims = {}
    for entry in document.get("vulnerabilities") or []:
        ecosystem, name = GITHUB_ECOSYSTEMS.get(entry["package"]["ecosystem"], entry["package"]["ecosystem"]), entry["package"]["name"]
        claim = claims.setdefault((ecosystem, pypi_name(name) if ecosystem == "PyPI" else name), Claim(ecosystem))
        patched = entry.get("first_patched_version")
        patched = patched.get("identifier") if isinstance(patched, dict) else patched
        low, high = ("introduced", "0"), ("fixed", patched) if patched else None
        for operator, version in (re.fullmatch(r"\s*(>=|<=|=|<|>)\s*(\S+)\s*", each).groups() for each in entry["vulnerable_version_range"].split(",")):
            if operator == "=":
                low = ("introduced", version)
                if not patched:
                    claim.versions.add(version)
                    low = None
            elif operator == ">=":
                low = ("introduced", version)
            elif operator == ">":
                # No version sorts between 1.2.0 and 1.2.1-0.
                major, minor, patch = version.split(".")
                low = ("introduced", f"{major}.{minor}.{int(patch) + 1}-0")
            elif operator == "<":
                high = ("fixed", version)
            elif not patched:
                high = ("last_affected", version)
        if low:
            claim.ranges.append((order_of(ecosystem), [low] + ([high] if high else [])))
    return document["ghsa_id"], bool(document.get("withdrawn_at")), claims


WOLFI_AFFECTED = {"true-positive-determination", "fix-not-planned", "pending-upstream-fix"}
WOLFI_OPEN = {"detection", "analysis-not-planned"}


class Silent(Claim):
    """A record without versions yet, which differs from any claim."""

    def verdict(self, version, ranks):
        return "nothing"


def wolfi_names(document):
    """Returns claims by (any ID of an advisory, package), not judged if several versions are patched."""
    name = document["package"]["name"]
    told = {id: claims for id, _, claims in wolfi_records(document)}
    for advisory in document["advisories"]:
        last = sorted(advisory.get("events") or [], key=lambda event: event["timestamp"])[-1:]
        claims = told.get(advisory["id"])
        if claims is None and last and last[0]["type"] in WOLFI_OPEN:
            claims = {("Wolfi", name): Silent("Wolfi")}
        for number in {advisory["id"], *(advisory.get("aliases") or [])} if claims else ():
            for key, claim in claims.items():
                yield (number, key), claim


def wolfi_records(document):
    """Yields the last event of each advisory that makes a claim about versions."""
    name = document["package"]["name"]
    for advisory in document["advisories"]:
        last = sorted(advisory.get("events") or [], key=lambda event: event["timestamp"])[-1:]
        claim = Claim("Wolfi")
        kind = last[0]["type"] if last else ""
        if kind == "fixed":
            claim.ranges.append(("Wolfi", [("introduced", "0"), ("fixed", last[0]["data"]["fixed-version"])]))
        elif kind in WOLFI_AFFECTED:
            claim.ranges.append(("Wolfi", [("introduced", "0")]))
        elif kind != "false-positive-determination":
            continue
        yield advisory["id"], False, {("Wolfi", name): claim}


def read_source(path):
    """Yields (id, is withdrawn, claims) of each record in a file."""
    text = path.read_text("utf-8-sig")
    if path.suffix == ".md":
        yield rustsec_record(text)
        return
    document = json.loads(text) if path.suffix == ".json" else yaml.load(text, yaml.BaseLoader)
    if isinstance(document, dict) and "advisories" in document:
        yield from wolfi_records(document)
        return
    if isinstance(document, dict) and "packages" in document:
        return
    for record in document if isinstance(document, list) else [document]:
        if "ghsa_id" in record:
            yield github_record(record)
            continue
        yield record["id"], bool(record.get("withdrawn")), osv_claims(record)


# ---- OpenVEX and CSAF statements with a version ----------------------------------------------------------------------

PURL_TYPES = {
    "golang": "Go", "pypi": "PyPI", "npm": "npm", "maven": "Maven", "cargo": "crates.io", "gem": "RubyGems", "nuget": "NuGet", "composer": "Packagist",
    "hex": "Hex", "apk/wolfi": "Wolfi", "apk/chainguard": "Chainguard", "apk/alpine": "Alpine",
}  # fmt: skip


def read_purl(purl):
    """Returns (ecosystem, name, version), or None without a version or for an unknown type."""
    bare = purl.split("?")[0].split("#")[0]
    found = re.fullmatch(r"pkg:([^/]+)/(.+)@([^@]+)", bare)
    if not found:
        return None
    kind, path, version = found[1], [unquote(each) for each in found[2].split("/")], unquote(found[3])
    if f"{kind}/{path[0]}" in PURL_TYPES:
        return PURL_TYPES[f"{kind}/{path[0]}"], "/".join(path[1:]), version
    if kind not in PURL_TYPES:
        return None
    return PURL_TYPES[kind], (":" if kind == "maven" else "/").join(path), version


def openvex_statements(document):
    """Yields (names of the vulnerability, status, purl), earliest first."""
    document = document.get("predicate", document)
    for statement in sorted(document.get("statements", []), key=lambda each: each.get("timestamp", "")):
        vulnerability = statement["vulnerability"]
        # In OpenVEX 0.0.1 vulnerabilities and products are texts.
        if isinstance(vulnerability, str):
            vulnerability = {"name": vulnerability}
        names = {vulnerability.get("name") or vulnerability["@id"], *vulnerability.get("aliases", [])}
        for product in statement.get("products", []):
            yield names, statement["status"], product if isinstance(product, str) else product.get("identifiers", {}).get("purl") or product.get("@id", "")


def statement_versions(document):
    """Returns the versions that a document names by (name, package); none if a statement applies to all."""
    found = defaultdict(set)
    for names, _, purl in openvex_statements(document):
        read = read_purl(purl) or read_purl(purl.split("?")[0] + "@*")
        if read:
            for name in names:
                found[(name, read[:2])] |= {read[2]} - {"*"}
    return found


def ask_reader(questions):
    """Returns the verdicts of the first and last matching statement by (document, name, package, version)."""
    said = {"affected": "affected", "fixed": "unaffected", "not_affected": "unaffected"}
    purls = [f"pkg:apk/wolfi/{quote(package, safe='')}@{quote(version, safe='')}?arch=x86_64" for _, _, package, version in questions]
    lines = [json.dumps([str(path), name, purl]) for (path, name, _, _), purl in zip(questions, purls)]
    told = subprocess.run([READER], input="\n".join(lines), capture_output=True, text=True)
    if told.returncode != 0:
        raise SystemExit(f"a document is none that readers take: {told.stderr}")
    return [{said[status] for status in answer.split() if status in said} for answer in told.stdout.splitlines()]


# ---- secdb -------------------------------------------------------------------------------------------------------


def secdb_fixes(document):
    """Returns the fixed versions by (name, package). Readers split a text at spaces."""
    found = defaultdict(set)
    for entry in document["packages"]:
        for version, texts in entry["pkg"]["secfixes"].items():
            for name in {word for text in texts for word in text.split()}:
                found[(name, entry["pkg"]["name"])].add(version)
    return found


def secdb_claim(ecosystem, versions):
    claim = Claim(ecosystem)
    claim.ranges = [(ecosystem, [("introduced", "0"), ("fixed", version)]) for version in sorted(versions) if version != "0"]
    return claim


# Versions valid in every order, one below and one above most others.
SAMPLES = ["0.0.1", "999999.0.0"]

CSAF_STATUS = {
    "known_affected": "affected", "first_affected": "affected", "last_affected": "affected", "known_not_affected": "not_affected", "fixed": "fixed",
    "first_fixed": "fixed",
}  # fmt: skip


def csaf_products(value, found):
    if isinstance(value, dict):
        if "product_id" in value:
            purl = value.get("product_identification_helper", {}).get("purl")
            if purl:
                found[value["product_id"]] = purl
        for each in value.values():
            csaf_products(each, found)
    elif isinstance(value, list):
        for each in value:
            csaf_products(each, found)
    return found


def csaf_statements(document):
    purls = csaf_products(document.get("product_tree", {}), {})
    for vulnerability in document.get("vulnerabilities", []):
        names = {vulnerability.get("cve", ""), *(each["text"] for each in vulnerability.get("ids", []))}
        for group, products in vulnerability.get("product_status", {}).items():
            for product in products:
                if group in CSAF_STATUS and product in purls:
                    yield names, CSAF_STATUS[group], purls[product]


# ---- the comparison ------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=8)
def read_versions(path):
    return statement_versions(json.loads(path.read_text()))


def main():
    unread, records, named_claims, secdbs = [], [], defaultdict(list), {}
    for path in sorted(Path(SOURCE).rglob("*")):
        if not path.is_file() or path.suffix not in (".json", ".yaml", ".yml", ".md") or path.name.startswith("README"):
            continue
        try:
            records += read_source(path)
            document = json.loads(path.read_text("utf-8-sig")) if path.suffix == ".json" else None
            if path.suffix in (".yaml", ".yml") and ".advisories." in path.name:
                for named, claim in wolfi_names(yaml.load(path.read_text("utf-8-sig"), yaml.BaseLoader)):
                    named_claims[named].append(claim)
            if isinstance(document, dict) and "distroversion" in document:
                secdbs[f"{document['distroversion']}/{document['reponame']}"] = document
        except Exception as error:  # names the file, whatever the error
            unread.append(f"{path.name}: {type(error).__name__}: {error}")

    # (record, package, source's claim, output's claim, withdrawn in source, in output)
    cases, missing = [], []
    for id, withdrawn, claims in records:
        path = Path(OUTPUT) / "osv" / f"{id}.json"
        if not path.is_file():
            if claims:
                missing.append(id)
            continue
        published = json.loads(path.read_text())
        told = osv_claims(published)
        for key in sorted(set(claims) | set(told)):
            cases.append((id, key, claims.get(key) or Claim(key[0]), told.get(key) or Claim(key[0]), withdrawn, bool(published.get("withdrawn"))))

    by_name = defaultdict(list)
    for id, _, claims in records:
        for key, claim in claims.items():
            by_name[(id, key)].append(claim)
    statements = []
    for kind, read in (("csaf", csaf_statements),):
        for path in sorted((Path(OUTPUT) / kind).glob("*.json")):
            latest = {}
            for names, status, purl in read(json.loads(path.read_text())):
                for name in names:
                    latest[(name, purl)] = status
            for (name, purl), status in latest.items():
                if status not in ("affected", "not_affected", "fixed"):
                    continue
                # CSAF states what applies to all versions once per package without a version.
                all_versions = [f"{purl.split('?')[0]}@{version}" for version in SAMPLES] if kind == "csaf" and "@" not in purl else [purl]
                for found in filter(None, map(read_purl, all_versions)):
                    # A purl lacks the distribution's release.
                    for claim in by_name.get((name, found[:2]), []):
                        statements.append((kind, name, found, "affected" if status == "affected" else "unaffected", claim))

    # (group, name, package, (OpenVEX document, its versions) or secdb's claim, source's claim)
    said, untold = [], []
    for path in sorted((Path(OUTPUT) / "openvex").glob("*.json")):
        for named, versions in statement_versions(json.loads(path.read_text())).items():
            for claim in named_claims.get(named, []):
                said.append(("openvex", named, (path, versions), None, claim))
    index = Path(OUTPUT) / "vex/index.json"
    packages = {each["id"]: each["location"] for each in json.loads(index.read_text())["packages"]} if index.is_file() else {}
    for named, claims in sorted(named_claims.items()):
        # As Trivy does: one document per package, by exactly this text.
        location = packages.get(f"pkg:apk/wolfi/{quote(named[1][1], safe='')}")
        path = Path(OUTPUT) / "vex" / (location or "")
        versions = read_versions(path).get(named) if location else None
        said += [("vex repository", named, (path, versions), None, claim) for claim in claims if versions is not None]
    for path in sorted((Path(OUTPUT) / "secdb").glob("*/security.json")):
        for (name, package), versions in secdb_fixes(json.loads(path.read_text())).items():
            named = (name, ("Wolfi", package))
            claims = named_claims.get(named, [])
            if not claims or len(versions) > 1:
                untold.append(f"{name} {package}: a secdb says {sorted(versions)}, and the source {len(claims)} times something")
            said += [("secdb", named, None, secdb_claim("Wolfi", versions), claim) for claim in claims]
    for number, document in secdbs.items():
        fixes = secdb_fixes(document)
        for end, load in ((".json", json.loads), (".yaml", yaml.safe_load)):
            path = Path(OUTPUT) / "secdb/alpine" / f"{number}{end}"
            theirs = secdb_fixes(load(path.read_text())) if path.is_file() else {}
            for name, package in sorted(set(fixes) | set(theirs)):
                ours, other = (secdb_claim("Alpine", of.get((name, package), set())) for of in (fixes, theirs))
                said.append((f"secdb{end}", (name, ("Alpine", package)), None, other, ours))

    wanted = defaultdict(set)
    tried = []
    judged = []
    for group, named, found, told, claim in said:
        bounds = {bound for _, bound in claim.bounds() | (told.bounds() if told else set())} | (found[1] if found else set()) | {"0"}
        around = {each for bound in bounds for each in neighbours(named[1][0], bound)}
        wanted[order_of(named[1][0])] |= bounds | around
        judged.append((group, named, found, told, claim, bounds, around))
    for id, key, ours, theirs, withdrawn, told_withdrawn in cases:
        bounds = {version for _, version in ours.bounds() | theirs.bounds()} | {"0"}
        around = {each for order, version in ours.bounds() | theirs.bounds() if order for each in neighbours(order, version)} - bounds
        orders = {order_of(key[0]), *(order for order, _ in ours.ranges + theirs.ranges)} - {None}
        tried.append((bounds, around, orders))
        for order in orders:
            wanted[order] |= bounds | around
    for _, _, (ecosystem, _, version), _, claim in statements:
        for order in {order_of(ecosystem), *(order for order, _ in claim.ranges)} - {None}:
            wanted[order] |= {version} | {bound for _, bound in claim.bounds()}
    ranks = {order: rank_all(order, texts) for order, texts in wanted.items()}

    pairs, different, unjudged, named = Counter(), Counter(), Counter(), set()
    shown = []

    def compare(group, id, name, version, source, output):
        pairs[group] += 1
        if source == "not judged" and output == "not judged":
            unjudged[group] += 1
        if source != output:
            different[group] += 1
            if id not in named and len(shown) < SHOWN:
                shown.append(f"{id}: {name} {version}: the source says {source}, the output {output}")
            named.add(id)

    written = open(PAIRS, "w")
    for (id, key, ours, theirs, withdrawn, told_withdrawn), (bounds, around, orders) in zip(cases, tried):
        # Ignores generated texts that are no valid version.
        for version in sorted(bounds | {each for each in around if any(each in ranks[order] for order in orders)}):
            written.write(json.dumps([id, *key, version, theirs.verdict(version, ranks)]) + "\n")
            source = "withdrawn" if withdrawn else ours.verdict(version, ranks)
            output = "withdrawn" if told_withdrawn else theirs.verdict(version, ranks)
            compare(f"OSV {key[0].split(':')[0]}", id, f"{key[0]} {key[1]}", version, source, output)
    written.close()
    for kind, id, (ecosystem, name, version), status, claim in statements:
        compare(f"{kind} {ecosystem}", f"{id} in {kind}", name, version, claim.verdict(version, ranks), status)

    questions, compared = [], []
    for group, (name, (ecosystem, package)), found, told, claim, bounds, around in judged:
        order = order_of(ecosystem)
        for version in sorted(bounds | {each for each in around if each in ranks[order]}):
            about = (f"{group} {ecosystem}", f"{name} in {group}", package, version, claim.verdict(version, ranks))
            if told:
                compare(*about, told.verdict(version, ranks))
            else:
                questions.append((found[0], name, package, version))
                compared.append(about)
    for about, outputs in zip(compared, ask_reader(questions) if questions else []):
        for output in outputs:
            compare(*about, output)
    for each in untold:
        different["secdb Wolfi"] += 1
        shown.append(each)

    groups = {group: {"pairs": pairs[group], "different": different[group], "notJudged": unjudged[group]} for group in sorted(pairs)}
    report = {
        "records": len(records),
        "recordsDifferent": len(named & {id for id, *_ in records}),
        "pairs": sum(pairs.values()),
        "different": sum(different.values()),
        "notJudged": sum(unjudged.values()),
        "groups": groups,
        "notPublished": missing,
        "notRead": unread,
        "differences": shown,
    }
    print(json.dumps(report, indent=2))


main()
