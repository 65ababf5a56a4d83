// Names of Python packages are the same however they are written (PEP 503): "Django" and "django", "zope.interface" and
// "Zope_Interface". Whatever compares them does it by the form that this makes. Pure.

/** @param name of a package of PyPI */
export const normalizePythonName = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, "-");
