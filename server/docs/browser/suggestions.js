// Search results while typing: the search field becomes a combobox with a list (WAI-ARIA Authoring Practices, with list
// autocomplete). Without it, the field submits its form. The server searches, with the same words and synonyms as the results page.

const field = document.querySelector("#search");
const list = document.querySelector("#suggestions");
const status = document.querySelector("#suggested");

const pauseMs = 120;

/**
 * @typedef {{ readonly href: string, readonly title: string, readonly where: string }} Suggestion
 */

/** @param {unknown} value @returns {Suggestion[]} */
const suggestionsIn = (value) => {
  const found = typeof value === "object" && value !== null && "suggestions" in value ? value.suggestions : [];
  return Array.isArray(found) ? found.map(({ href, title, where }) => ({ href: String(href), title: String(title), where: String(where) })) : [];
};

/** @param {HTMLInputElement} input @param {HTMLElement} options @param {HTMLElement} told */
const openCombobox = (input, options, told) => {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  /** @type {AbortController | undefined} */
  let asking;
  let active = -1;

  // A search field may not be a combobox (ARIA in HTML).
  input.type = "text";
  input.enterKeyHint = "search";
  input.autocomplete = "off";
  options.setAttribute("role", "listbox");
  options.setAttribute("aria-label", "Suggestions");
  for (const [name, value] of Object.entries({ role: "combobox", "aria-autocomplete": "list", "aria-controls": options.id, "aria-expanded": "false" }))
    input.setAttribute(name, value);

  const close = () => {
    clearTimeout(waiting);
    asking?.abort();
    active = -1;
    options.hidden = true;
    options.replaceChildren();
    told.textContent = "";
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };

  /** @param {number} index */
  const activate = (index) => {
    active = index;
    for (const [at, option] of [...options.children].entries()) option.setAttribute("aria-selected", String(at === index));
    const option = options.children[index];
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  };

  /** Follows a link, so that page.js can keep the token. @param {Element | undefined} option */
  const follow = (option) => {
    const href = option instanceof HTMLElement ? option.dataset.href : undefined;
    if (href === undefined) return;
    const link = document.createElement("a");
    link.href = href;
    link.hidden = true;
    document.body.append(link);
    close();
    link.click();
    link.remove();
  };

  /** @param {readonly Suggestion[]} found */
  const show = (found) => {
    options.replaceChildren(
      ...found.map(({ href, title, where }, index) => {
        const [option, name, place] = [document.createElement("li"), document.createElement("span"), document.createElement("small")];
        option.id = `suggestion-${index}`;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", "false");
        option.dataset.href = href;
        name.textContent = title;
        place.textContent = where;
        option.append(name, " ", place);
        return option;
      }),
    );
    active = -1;
    input.removeAttribute("aria-activedescendant");
    options.hidden = found.length === 0;
    input.setAttribute("aria-expanded", String(found.length > 0));
    told.textContent = found.length === 0 ? "No suggestions" : `${found.length} ${found.length === 1 ? "suggestion" : "suggestions"}`;
  };

  const ask = async () => {
    const query = input.value.trim();
    asking?.abort();
    if (query === "") return close();
    const { signal } = (asking = new AbortController());
    try {
      const response = await fetch(`/docs/suggestions?${new URLSearchParams({ q: query })}`, { signal, credentials: "omit", redirect: "error" });
      const found = response.ok ? suggestionsIn(await response.json()) : [];
      if (!signal.aborted && document.activeElement === input) show(found);
    } catch {
      // Superseded, or the server is unreachable: the form still works.
    }
  };

  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => void ask(), pauseMs);
  });
  input.addEventListener("keydown", (event) => {
    const count = options.children.length;
    const isOpen = !options.hidden && count > 0;
    if (event.key === "Escape" && isOpen) {
      event.preventDefault();
      close();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !isOpen) {
      event.preventDefault();
      void ask();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      // One position beyond the list is the field itself.
      const next = active + (event.key === "ArrowDown" ? 1 : -1);
      activate(next < -1 ? count - 1 : next >= count ? -1 : next);
    } else if (event.key === "Enter" && isOpen && active >= 0) {
      event.preventDefault();
      follow(options.children[active]);
    }
  });
  input.addEventListener("blur", close);
  input.form?.addEventListener("submit", close);
  // The field keeps the focus while an option is pressed.
  options.addEventListener("pointerdown", (event) => event.preventDefault());
  options.addEventListener("click", (event) => follow(event.target instanceof Element ? (event.target.closest("[role=option]") ?? undefined) : undefined));
};

if (field instanceof HTMLInputElement && list instanceof HTMLElement && status instanceof HTMLElement) {
  openCombobox(field, list, status);
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}
export {};
