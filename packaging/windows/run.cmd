@echo off
rem Runs the tests of hocket.dll on this machine, each one of tests.txt, and counts them. We ran it under wine, never on Windows.
rem What a test printed is in logs. It writes into logs and into the folder for temporary files.
rem   run.cmd [WORD]    those whose names have WORD in them
setlocal
cd /d "%~dp0"
if not exist logs mkdir logs
set passed=0
set failed=0
set skipped=0
for /f "tokens=1,2,3,4" %%a in (tests.txt) do call :one %%a %%b %%c %%d %1
echo.
ver
echo %passed% passed, %failed% failed, %skipped% skipped
if not %failed%==0 echo Please send these lines and the files of logs that are named above as an issue.
if not %failed%==0 exit /b 1
exit /b 0

:one
set word=%4
if %1==5.1 set word=%5
if %1==5.2 set word=%5
if %1==5.3 set word=%5
if %1==5.4 set word=%5
if "%word%"=="" goto go
echo %2 | find "%word%" >nul
if errorlevel 1 goto :eof
:go
set LUA_PATH=%CD%\tests\module\?.lua
set LUA_CPATH=%CD%\lua\%1\?.dll
set HOCKET_MODEL=sim/default
if %1==lua goto lua
if %1==c goto c
%3 %4 >logs\%2.txt 2>&1
goto count
:c
%3 >logs\%2.txt 2>&1
goto count
:lua
set HOCKET_MODEL=
set LUA_CPATH=
set LUA_PATH=%CD%\tests\lua\support\?.lua
set script=%CD%\%3
pushd tests\lua
..\..\hocket_run_script.exe %script% >..\..\logs\%2.txt 2>&1
set code=%errorlevel%
popd
if %code%==0 goto pass
goto fail
:count
if %errorlevel%==77 goto skip
if %errorlevel%==0 goto pass
:fail
set /a failed+=1
echo FAILED %2: see logs\%2.txt
goto :eof
:skip
set /a skipped+=1
goto :eof
:pass
set /a passed+=1
goto :eof
