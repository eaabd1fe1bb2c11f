@echo off
rem Runs the tests of hocket.dll on this machine, each one of tests.txt, and counts them. We ran it under wine, never on Windows.
rem What a test printed is in logs. It writes into logs, into the folder for temporary files, and below AppData.
rem   run.cmd [WORD]    those whose names have WORD in them
setlocal
cd /d "%~dp0"
if not exist logs mkdir logs
set "HOCKET_TEST_TMPDIR=%TEMP:\=/%"
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
if "%5"=="" goto go
echo %2 | find "%5" >nul
if errorlevel 1 goto :eof
:go
set LUA_PATH=%CD%\tests\module\?.lua
set LUA_CPATH=%CD%\lua\%1\?.dll
set HOCKET_MODEL=sim/default
if %1==lua goto lua
if %1==c goto c
if %1==game goto game
if %1==engine goto engine
%3 %4 >logs\%2.txt 2>&1
goto count
:c
%3 >logs\%2.txt 2>&1
goto count
:game
set LUA_CPATH=%CD%\lua\5.1\?.dll
%3 tests\windows\love.lua examples\embed\npcs logs --headless %4 >logs\%2.txt 2>&1
goto count
:engine
if exist logs\ended rmdir /s /q logs\ended
xcopy /e /i /q tests\windows\ended logs\ended >nul
set ms=30
:again
start /wait "" %3 "%CD%\logs\ended" %ms%
if %errorlevel%==0 goto ended
set /a ms+=17+ms/16
if %ms% lss 5000 goto again
:ended
%4 tests\windows\ended.lua logs\ended >logs\%2.txt 2>&1
goto count
:lua
set HOCKET_MODEL=
set LUA_CPATH=
set LUA_PATH=%CD%\tests\lua\support\?.lua
set script=%CD%\%3
set store=
if %4==kept set store="%CD%\logs\%2.db"
if %4==kept del /q logs\%2.db* 2>nul
pushd tests\lua
..\..\bin\hocket_run_script.exe "%script%" %store% >..\..\logs\%2.txt 2>&1
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
