export const Look = () => <h1>Look</h1>;
