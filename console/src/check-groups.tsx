// Many checkboxes in groups, with a filter.

import { type ReactNode, useId, useState } from "react";
import { Dotted } from "./parts.tsx";
import { texts } from "./texts/check-groups.ts";

export interface CheckItem<Value extends string> {
  readonly value: Value;
  readonly title: string;
  readonly group: string;
  /** Cannot be chosen. */
  readonly isDisabled: boolean;
}

interface CheckGroupsProps<Value extends string> {
  readonly label: string;
  /** Says why items are disabled, too. */
  readonly about: string;
  /** Shown instead of `about`. */
  readonly problem?: string | undefined;
  readonly items: readonly CheckItem<Value>[];
  readonly chosen: ReadonlySet<Value>;
  readonly onChange: (chosen: ReadonlySet<Value>) => void;
}

interface GroupProps<Value extends string> extends Pick<CheckGroupsProps<Value>, "chosen" | "onChange"> {
  readonly title: string;
  readonly items: readonly CheckItem<Value>[];
  /** Id of the text that says why items are disabled. */
  readonly aboutId: string;
}

const Group = <Value extends string>({ title, items, aboutId, chosen, onChange }: GroupProps<Value>): ReactNode => {
  const id = useId();
  const free = items.filter(({ isDisabled }) => !isDisabled).map(({ value }) => value);
  const isWhole = free.every((value) => chosen.has(value));
  const change = (values: readonly Value[], isChosen: boolean): void => {
    const next = new Set(chosen);
    for (const value of values) isChosen ? next.add(value) : next.delete(value);
    onChange(next);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset within a fieldset has two legends to read for each checkbox
    <div role="group" aria-labelledby={id}>
      <p className="check-group">
        <span id={id}>{title}</span>
        {free.length > 1 ? (
          <button type="button" className="link" aria-label={isWhole ? texts.noneOf(title) : texts.allOf(title)} onClick={() => change(free, !isWhole)}>
            {isWhole ? texts.noneShort : texts.allShort}
          </button>
        ) : null}
      </p>
      <div className="check-items">
        {items.map((item) => (
          <label key={item.value} className="check" title={item.value}>
            <input
              type="checkbox"
              checked={chosen.has(item.value)}
              disabled={item.isDisabled}
              aria-describedby={item.isDisabled ? aboutId : undefined}
              onChange={({ target }) => change([item.value], target.checked)}
            />
            <Dotted>{item.title}</Dotted>
          </label>
        ))}
      </div>
    </div>
  );
};

export const CheckGroups = <Value extends string>({ label, about, problem, items, chosen, onChange }: CheckGroupsProps<Value>): ReactNode => {
  const id = useId();
  const [filter, setFilter] = useState("");
  const wanted = filter.trim().toLowerCase();
  const shown = items.filter(({ title }) => title.toLowerCase().includes(wanted));
  const groups = [...Map.groupBy(shown, ({ group }) => group)].sort(([one], [other]) => (one < other ? -1 : 1));
  return (
    <fieldset className="field check-groups" aria-describedby={`${id}-about`}>
      <legend>
        {label} <span className="count">{texts.chosenCount(chosen.size)}</span>
      </legend>
      <input
        type="search"
        aria-label={texts.filterOf(label)}
        placeholder={texts.filterPlaceholder}
        autoComplete="off"
        spellCheck={false}
        value={filter}
        onChange={({ target }) => setFilter(target.value)}
        onKeyDown={(event) => {
          // It would send the form.
          if (event.key === "Enter") event.preventDefault();
        }}
      />
      <div className="check-list">
        {shown.length === 0 ? <p className="quiet">{texts.noMatch(filter.trim())}</p> : null}
        {groups.map(([title, own]) => (
          <Group key={title} title={title} items={own} aboutId={`${id}-about`} chosen={chosen} onChange={onChange} />
        ))}
      </div>
      <p id={`${id}-about`} className={problem === undefined ? "about" : "problem"}>
        {problem ?? about}
      </p>
    </fieldset>
  );
};
