// A labelled text of several lines.

import { type ReactNode, useId } from "react";

interface TextAreaProps {
  readonly label: string;
  readonly rows: number;
  readonly lengthMax: number;
  readonly value: string;
  readonly about: string;
  /** Shown instead of `about`. */
  readonly problem?: string | undefined;
  readonly onChange: (value: string) => void;
  readonly required?: boolean;
  readonly isFirst?: boolean;
}

export const TextArea = ({ label, rows, lengthMax, value, about, problem, onChange, required = false, isFirst = false }: TextAreaProps): ReactNode => {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        spellCheck={false}
        autoComplete="off"
        maxLength={lengthMax}
        value={value}
        aria-describedby={`${id}-about`}
        aria-invalid={problem !== undefined}
        aria-required={required}
        {...(isFirst ? { "data-first": true } : {})}
        onChange={({ target }) => onChange(target.value)}
      />
      <p id={`${id}-about`} className={problem === undefined ? "about" : "problem"}>
        {problem ?? about}
      </p>
    </div>
  );
};
