# A wheel with one module and one console script of the package's name, on standard output. Further arguments: what it requires.
import base64, hashlib, io, sys, zipfile

name, version, source = sys.argv[1:4]
requires = "".join(f"Requires-Dist: {each}\n" for each in sys.argv[4:])
module = name.replace("-", "_")
info = f"{module}-{version}.dist-info"
files = {
    f"{module}.py": source,
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + requires,
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {module}:main\n",
}


def digest(text):
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


record = "".join(f"{path},sha256={digest(text)},{len(text.encode())}\n" for path, text in files.items())
files[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
out = io.BytesIO()
with zipfile.ZipFile(out, "w") as archive:
    for path, text in files.items():
        archive.writestr(path, text)
sys.stdout.buffer.write(out.getvalue())
