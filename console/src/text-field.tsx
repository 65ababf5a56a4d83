// A labelled line of text.

import { type ReactNode, useId } from "react";

interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly about?: string | undefined;
  /** Shown instead of `about`. */
  readonly problem?: string | undefined;
  readonly onChange: (value: string) => void;
  readonly type?: "text" | "number" | "password";
  readonly required?: boolean;
  readonly isFirst?: boolean;
}

export const TextField = ({ label, value, about, problem, onChange, type = "text", required = false, isFirst = false }: TextFieldProps): ReactNode => {
  const id = useId();
  const note = problem ?? about;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type={type}
        autoComplete={type === "password" ? "new-password" : "off"}
        spellCheck={false}
        maxLength={type === "password" ? 4096 : 2048}
        value={value}
        aria-describedby={note === undefined ? undefined : `${id}-about`}
        aria-invalid={problem !== undefined}
        aria-required={required}
        {...(type === "number" ? { min: 0 } : {})}
        {...(isFirst ? { "data-first": true } : {})}
        onChange={({ target }) => onChange(target.value)}
      />
      {note === undefined ? null : (
        <p id={`${id}-about`} className={problem === undefined ? "about" : "problem"}>
          {note}
        </p>
      )}
    </div>
  );
};
