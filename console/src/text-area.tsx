// A labelled text of several lines.

import { type ReactNode, useId } from "react";

interface TextAreaProps {
  readonly label: string;
  readonly value: string;
  readonly about: string;
  /** Shown instead of `about`. */
  readonly problem: string | undefined;
  readonly rows: number;
  readonly maxLength: number;
  readonly required?: boolean;
  readonly onChange: (value: string) => void;
}

export const TextArea = ({ label, value, about, problem, rows, maxLength, required = false, onChange }: TextAreaProps): ReactNode => {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        spellCheck={false}
        autoComplete="off"
        maxLength={maxLength}
        value={value}
        aria-describedby={`${id}-about`}
        aria-invalid={problem !== undefined}
        aria-required={required}
        onChange={({ target }) => onChange(target.value)}
      />
      <p id={`${id}-about`} className={problem === undefined ? "about" : "problem"}>
        {problem ?? about}
      </p>
    </div>
  );
};
