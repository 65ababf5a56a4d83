"""What the ecosystems' own readers conclude of lists of libraries: name, tab, exact version; or why a line asks for none.

  python3 conclude.py FOLDER   prints JSON: {file: [[name, version], ...]}

requirements.txt by pip's own reader (its preprocessing of lines, and packaging's Requirement), lock files by tomllib with the
names that packaging makes of them, Maven's by the standard XML reader and by the separators of its coordinates.
"""

import json
import re
import sys
import tomllib
import xml.etree.ElementTree as xml
from pathlib import Path

from pip._internal.req.req_file import break_args_options, preprocess
from pip._vendor.packaging.requirements import InvalidRequirement, Requirement
from pip._vendor.packaging.utils import canonicalize_name


def exact(requirement):
    clauses = list(requirement.specifier)
    if len(clauses) == 1 and clauses[0].operator in ("==", "===") and not clauses[0].version.endswith(".*"):
        return clauses[0].version
    return ""


def requirements_txt(content):
    found = set()
    for _, line in preprocess(content):
        arguments, _ = break_args_options(line)
        if not arguments:
            continue
        try:
            requirement = Requirement(arguments)
        except InvalidRequirement:
            egg = re.search(r"[#&]egg=([^&]*)", arguments)
            if egg:
                found.add((canonicalize_name(egg.group(1)), ""))
            continue
        found.add((canonicalize_name(requirement.name), "" if requirement.url else exact(requirement)))
    return found


def poetry_lock(content):
    return {(canonicalize_name(each["name"]), each["version"]) for each in tomllib.loads(content)["package"]}


def uv_lock(content):
    packages = tomllib.loads(content)["package"]
    return {
        (canonicalize_name(each["name"]), each.get("version", ""))
        for each in packages
        if not {"virtual", "editable"} & set(each["source"])
    }


def pom(content):
    project = xml.fromstring(content)

    def name_of(element):
        return element.tag.rpartition("}")[2]

    def child(element, name):
        return next((each for each in element if name_of(each) == name), None) if element is not None else None

    def text(element, name):
        found = child(element, name)
        return (found.text or "").strip() if found is not None else ""

    parent = child(project, "parent")
    properties = {name_of(each): (each.text or "").strip() for each in (child(project, "properties") or [])}
    properties["project.version"] = text(project, "version") or text(parent, "version")
    properties["project.groupId"] = text(project, "groupId") or text(parent, "groupId")

    def filled(value):
        for _ in range(10):
            value = re.sub(r"\$\{([^}]+)\}", lambda match: properties.get(match.group(1), match.group(0)), value)
        return value

    def read(dependencies):
        for each in dependencies if dependencies is not None else []:
            if name_of(each) == "dependency":
                yield [filled(text(each, key)) for key in ("groupId", "artifactId", "version")]

    managed = {(group, artifact): version for group, artifact, version in read(child(child(project, "dependencyManagement"), "dependencies"))}
    found = set()
    for group, artifact, version in read(child(project, "dependencies")):
        version = version or managed.get((group, artifact), "")
        found.add((f"{group}:{artifact}", "" if "${" in version or version[:1] in ("[", "(") else version))
    return found


def gav_list(content):
    found = set()
    for line in content.splitlines():
        line = line.partition("#")[0].strip().partition("=")[0]
        if line in ("", "empty"):
            continue
        if "/" in line:
            artifact, version = line.split("/")[:2]
            found.add((artifact, version))
        else:
            group, artifact, version = line.split(":")
            found.add((f"{group}:{artifact}", version))
    return found


def read(file):
    content = file.read_text(encoding="utf-8")
    if file.parent.name == "requirements":
        return requirements_txt(content)
    if file.parent.name == "poetry":
        return poetry_lock(content)
    if file.parent.name == "uv":
        return uv_lock(content)
    return pom(content) if file.suffix == ".xml" else gav_list(content)


folder = Path(sys.argv[1])
files = sorted(file for file in folder.glob("*/*") if file.is_file())
print(json.dumps({str(file.relative_to(folder)): sorted(map(list, read(file))) for file in files}, indent=1))
