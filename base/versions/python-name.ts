// Normalizes names of Python packages (PEP 503): "Django" equals "django", "zope.interface" equals "Zope_Interface".

/**
 * Returns the normalized name.
 *
 * @param name of a PyPI package
 */
export const normalizePythonName = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, "-");
