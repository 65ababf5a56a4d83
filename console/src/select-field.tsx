// A labelled choice of one value.

import { type ReactNode, useId } from "react";

interface SelectFieldProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly choices: readonly (readonly [Value, string])[];
  readonly about?: string | undefined;
  /** Shown instead of `about`. */
  readonly problem?: string | undefined;
  readonly onChange: (value: Value) => void;
  readonly isFirst?: boolean;
}

export const SelectField = <Value extends string>({ label, value, choices, about, problem, onChange, isFirst = false }: SelectFieldProps<Value>): ReactNode => {
  const id = useId();
  const note = problem ?? about;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={note === undefined ? undefined : `${id}-about`}
        aria-invalid={problem !== undefined}
        {...(isFirst ? { "data-first": true } : {})}
        onChange={({ target }) => {
          const chosen = choices.find(([each]) => each === target.value);
          if (chosen) onChange(chosen[0]);
        }}
      >
        {choices.map(([each, title]) => (
          <option key={each} value={each}>
            {title}
          </option>
        ))}
      </select>
      {note === undefined ? null : (
        <p id={`${id}-about`} className={problem === undefined ? "about" : "problem"}>
          {note}
        </p>
      )}
    </div>
  );
};
